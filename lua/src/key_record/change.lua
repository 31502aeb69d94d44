-- Changes by hand what stands beside the states of one key. Answers 1 where that took effect, else 0.
--
-- ARGV[1]  now, op (1 block, 2 unblock, 3 set a limit, 4 clear it), limit, span (until the block or the limit ends;
--          -1: the limit does not), growth, longest_block
local took_effect = 1
if op == 1 then
  -- One of the rule's begins later, if at all, from the end of this one.
  if growth <= 1 or now >= blocked_until + longest_block then grown = 0 end
  length_of_block, blocked_until = span, now + span
elseif op == 2 then
  if blocked_until > now then blocked_until = now else took_effect = 0 end
elseif op == 3 then
  own_limit, own_until, own_length = limit, span < 0 and LATEST or now + span, math.max(span, 0)
else
  if own_until <= now then took_effect = 0 end
  own_limit, own_until, own_length = 0, 0, 0
end
if took_effect == 0 and not is_healed then return 0 end
