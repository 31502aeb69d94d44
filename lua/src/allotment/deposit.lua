-- Keeps what the region in charge has lent, and what it said. A loan that comes too late is not kept: the reply is how many
-- units are to be given back.
--
-- Numbers: age, useful, span, granted, granted_at, valid_until, denied_until, denied_cost, contended_until, fits_at,
-- fresh_at: what the same names of the state are to be; 0 where it denied nothing, or lent what it was asked for
local dropped, last = 0, #loans - 2
if granted > 0 and valid_until <= now then
  dropped = granted
elseif granted > 0 and last > 0
  and (#loans >= 3 * MOST_LOANS or math.abs(loans[last + 1] - valid_until) < age / 8) then
  -- Loans of about one time are one: it ends with the first of them.
  loans[last] = loans[last] + granted
  loans[last + 1] = math.min(loans[last + 1], valid_until)
  loans[last + 2] = math.min(loans[last + 2], granted_at)
elseif granted > 0 then
  loans[last + 3], loans[last + 4], loans[last + 5] = granted, valid_until, granted_at
end
if new_denied_until > 0 then denied_until, denied_cost, fits_at = new_denied_until, new_denied_cost, new_fits_at end
if new_contended_until > contended_until then contended_until = new_contended_until end
fresh_at = new_fresh_at
local answer = pack('<d', dropped)
