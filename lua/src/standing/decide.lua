-- Decides one limit, beside whose state something may stand. A denial by the limit begins a block, if the rule says so.
-- The last line opens what the commit that follows stands in.
local grant, amount, told = 0, forced, 0
if blocked_until > now then
  told = blocked_until
elseif capacity >= cost then
  grant, amount = 1, cost
elseif first_block > 0 and mode == 1 then
  --BEGIN
  --SAVE
  told = -blocked_until
end
if amount and mode == 1 then
