-- Decides one call of another region, unless OWN is 0, and lends to that region: of what is left so many units as it
-- wants, and not more than half, but one at least. PRICE is that of a unit.
local grant, lent, amount = 0, 0, forced
if own == 1 and capacity >= cost then grant, amount = 1, cost end
local left = capacity - grant * cost
if want > 0 and left >= price then
  lent = math.min(want, math.max(math.floor(left / (2 * price)), 1))
  amount = grant * cost + lent * price
end
if amount then
