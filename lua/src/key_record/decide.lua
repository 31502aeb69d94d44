-- Decides one limit, beside whose state something may stand. A denial by the limit begins a block, if the rule says so;
-- for a blocked key the reply has the room of its limit, and nothing is charged. The last line opens what the commit that
-- follows stands in.
local grant, amount, block = 0, forced, 0
if capacity >= cost then grant = 1 end
if blocked_until > now then
  block = blocked_until
elseif grant == 1 then
  amount = cost
elseif first_block > 0 and mode == 1 then
  --BEGIN
  is_healed, block = true, -blocked_until
end
--OVER
if (is_healed or is_over) and mode == 1 then
  --SAVE
end
if amount and mode == 1 then
