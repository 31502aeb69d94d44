-- Decides one limit for the first of UNITS callers: says the grant and the amount to commit, and that all callers have
-- this answer.
local grant, amount, callers = 0, forced, units
if capacity >= cost then grant, amount = 1, cost end
