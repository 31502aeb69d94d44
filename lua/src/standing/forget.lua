-- Forgets the blocks in the last |OP| keys, and that there were any. Limits stay where OP is not negative, as far as the
-- value is one of ours.
for i = #KEYS - math.abs(op) + 1, #KEYS do
  local standing_key = KEYS[i]
  local standing, own_limit, own_until = redis.pcall('GET', standing_key), 0, 0
  if type(standing) == 'table' and not string.find(standing.err, 'WRONGTYPE') then return standing end
  if op > 0 and type(standing) == 'string' and (#standing == 40 or #standing == 16) then
    own_limit, own_until = unpack_numbers('<dd', standing, #standing - 15)
    if not (own_limit > 0 and own_limit < LATEST and own_until <= ENDLESS) then own_limit, own_until = 0, 0 end
  end
  local growth, longest_block, blocked_until, length_of_block, grown = 0, 0, 0, 0, 0
  if standing then
    --SAVE
  end
end
-- The script that follows forgets the others.
local KEYS = { unpack(KEYS, 1, #KEYS - math.abs(op)) }
