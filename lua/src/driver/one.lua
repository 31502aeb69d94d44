-- Decides one limit: says the grant, from capacity and cost, and the amount to commit. The last line opens
-- what the commit that follows stands in.
local grant, amount = 0, forced
if capacity >= cost then
  grant = units > 1 and math.min(units, math.floor(capacity / cost)) or 1
  amount = grant * cost
end
if amount and mode == 1 then
