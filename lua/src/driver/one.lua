-- Decides one limit, for one unit: says the grant and the amount to commit. The last line opens what the commit that
-- follows stands in.
local grant, amount = 0, forced
if capacity >= cost then grant, amount = 1, cost end
if amount and mode == 1 then
