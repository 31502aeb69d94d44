-- Decides one limit: says the amount to commit. The last line opens what the commit that follows stands in.
local amount = forced
if grant > 0 then amount = grant * cost end
if amount and mode == 1 then
