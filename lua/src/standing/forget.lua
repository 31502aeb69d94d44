-- Forgets the blocks in the last OP keys, and that there were any. Limits stay.
for i = #KEYS - op + 1, #KEYS do
  local standing_key = KEYS[i]
  --LOAD
  local growth, longest_block = 0, 0
  blocked_until, length_of_block, grown = 0, 0, 0
  if standing then
    --SAVE
  end
end
-- The script that follows forgets the others.
local KEYS = { unpack(KEYS, 1, #KEYS - op) }
