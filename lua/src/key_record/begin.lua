-- Begins the block of a key that was denied: longer than the last one if that ended not long ago.
length_of_block = first_block
if growth > 1 and grown > 0 and now < blocked_until + longest_block then
  length_of_block = math.max(first_block, math.min(math.ceil(grown * growth), longest_block))
end
grown, blocked_until = length_of_block, now + length_of_block
