-- The numbers of the limit OWN_LIMIT, which takes the place of the rule's: UNITS of cost, REFILL the time in which the
-- limit is admitted anew, BURST (0: as much as the limit). The interval is rounded as `on_grid` of the crate `sluicegate`
-- rounds it: down to a multiple of a power of two. (The highest power in a number is found as in `commit.lua`.)
local most = burst > 0 and burst or own_limit
local interval = refill / own_limit
local scaled = most * interval * 4503599627370497
local power = scaled - 0.99999999999999988897769753748 * scaled
if power < most * interval then power = power * 2 end
local scale = 4503599627370496 / power
unit = math.floor(interval * scale) / scale
cost, full = units * unit, most * unit
