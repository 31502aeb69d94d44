-- Forgets the blocks in the last |OP| keys, and that there were any. Limits stay where OP is not negative, as far as the
-- value is one of ours.
for i = #KEYS - math.abs(op) + 1, #KEYS do
  local record_key = KEYS[i]
  local key_record, own_limit, own_until, own_length = redis.pcall('GET', record_key), 0, 0, 0
  if type(key_record) == 'table' and not string.find(key_record.err, 'WRONGTYPE') then return key_record end
  if op > 0 and type(key_record) == 'string' and (#key_record == 48 or #key_record == 24) then
    own_limit, own_until, own_length = unpack_numbers('<ddd', key_record, #key_record - 23)
    if not (own_limit > 0 and own_limit < LATEST and own_until <= ENDLESS and own_length <= LATEST) then
      own_limit, own_until, own_length = 0, 0, 0
    end
    if own_until < LATEST then own_until = math.min(own_until, now + own_length) end
  end
  local growth, longest_block, blocked_until, length_of_block, grown = 0, 0, 0, 0, 0
  if key_record then
    --SAVE
  end
end
-- The script that follows forgets the others.
local KEYS = { unpack(KEYS, 1, #KEYS - math.abs(op)) }
