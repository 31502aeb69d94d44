-- Begins the block of a key that was denied: longer than the last one if that ended not long ago.
local block = first_block
if growth > 1 and last_block > 0 and now < ended_at + longest_block then
  block = math.max(block, math.min(math.ceil(last_block * growth), longest_block))
end
last_block, ended_at = block, now + block
blocked_until = ended_at
