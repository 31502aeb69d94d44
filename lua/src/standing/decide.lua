-- Decides one limit, beside whose state something may stand. A denial by the limit begins a block, if the rule says so;
-- a key that is blocked is told what room its limit has, and charged nothing. The last line opens what the commit that
-- follows stands in.
local grant, amount, told = 0, forced, 0
if capacity >= cost then grant = 1 end
if blocked_until > now then
  told = blocked_until
elseif grant == 1 then
  amount = cost
elseif first_block > 0 and mode == 1 then
  --BEGIN
  is_healed, told = true, -blocked_until
end
--OVER
if (is_healed or is_over) and mode == 1 then
  --SAVE
end
if amount and mode == 1 then
