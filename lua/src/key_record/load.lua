-- What stands beside the state of one key, as the record of the key says: until when the key is, or was, blocked, how long that was
-- to last, how long the last block was to last that began with a denial, the limit that is stored for the key and until
-- when it holds (LATEST: for ever). What there is none of is 0. Of a key that was never blocked only the last two are kept.
-- After a step of the clock back, a block begins now.
local blocked_until, length_of_block, grown, own_limit, own_until, is_healed = 0, 0, 0, 0, 0, false
local key_record = call('GET', record_key)
if key_record then
  if #key_record == 16 then
    own_limit, own_until = unpack_numbers('<dd', key_record)
  else
    if #key_record ~= 40 then return { err = BAD_STATE } end
    blocked_until, length_of_block, grown, own_limit, own_until = unpack_numbers('<ddddd', key_record)
    if not (blocked_until >= 0 and blocked_until <= ENDLESS and length_of_block >= 0 and length_of_block <= LATEST
      and grown >= 0 and grown <= LATEST) then
      return { err = BAD_STATE }
    end
    if blocked_until > now + length_of_block then blocked_until, is_healed = now + length_of_block, true end
  end
  if not (own_limit >= 0 and own_limit < LATEST and own_until >= 0 and own_until <= ENDLESS) then
    return { err = BAD_STATE }
  end
end
