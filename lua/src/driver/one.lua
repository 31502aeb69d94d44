-- Decides one limit: says the grant, from capacity and cost, and the amount to commit. The last line opens
-- what the commit that follows stands in.
local grant = floor(capacity / cost)
if grant > units then grant = units end
local amount = forced
if grant > 0 then amount = grant * cost end
if amount and mode == 1 then
