-- Changes by hand what stands beside the states of one key. Answers 1 where that took effect, else 0.
--
-- ARGV[1]  now, op (1 block, 2 unblock, 3 set a limit, 4 clear it), limit, span (until the block or the limit ends;
--          -1: the limit does not), growth, longest_block
if op == 1 then
  -- One of the rule's begins later, if at all, from the end of this one.
  if growth <= 1 or now >= blocked_until + longest_block then grown = 0 end
  length_of_block, blocked_until = span, now + span
elseif op == 2 then
  if blocked_until <= now then return 0 end
  blocked_until = now
elseif op == 3 then
  own_limit, own_until = limit, span < 0 and LATEST or now + span
else
  if own_until <= now then return 0 end
  own_limit, own_until = 0, 0
end
