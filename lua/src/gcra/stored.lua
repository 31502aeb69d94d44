-- The numbers of the limit OWN_LIMIT, which takes the place of the rule's: UNITS of cost, REFILL the time in which the
-- limit is admitted anew, BURST (0: as much as the limit). The interval is rounded as `on_grid` of the crate `sluicegate`
-- rounds it: down to a multiple of a power of two. (The highest power in a number is found as in `commit.lua`.) Stored
-- under another algorithm, the limit may be larger than a burst may be, which is 2^32.
local taken, most = own_limit, burst
if burst == 0 then
  if taken > 4294967296 then taken = 4294967296 end
  most = taken
end
local interval = refill / taken
local scaled = most * interval * 4503599627370497
local power = scaled - 0.99999999999999988897769753748 * scaled
if power < most * interval then power = power * 2 end
local scale = 4503599627370496 / power
local steps = interval * scale
unit = (steps - steps % 1) / scale
cost, full = units * unit, most * unit
