-- What stands beside the state of one key, as the record of the key says: until when the key is, or was, blocked, how long that was
-- to last, how long the last block was to last that began with a denial, the limit that is stored for the key, until when
-- it holds (LATEST: for ever), and how long that was to be. What there is none of is 0. Of a key that was never blocked
-- only the last three are kept. After a step of the clock back, a block begins now, and a limit is stored now.
local blocked_until, length_of_block, grown, own_limit, own_until, own_length, is_healed = 0, 0, 0, 0, 0, 0, false
local key_record = call('GET', record_key)
if key_record then
  if #key_record == 24 then
    own_limit, own_until, own_length = unpack_numbers('<ddd', key_record)
  else
    if #key_record ~= 48 then return { err = BAD_STATE } end
    blocked_until, length_of_block, grown, own_limit, own_until, own_length = unpack_numbers('<dddddd', key_record)
    if not (blocked_until >= 0 and blocked_until <= ENDLESS and length_of_block >= 0 and length_of_block <= LATEST
      and grown >= 0 and grown <= LATEST) then
      return { err = BAD_STATE }
    end
    if blocked_until > now + length_of_block then blocked_until, is_healed = now + length_of_block, true end
  end
  if not (own_limit >= 0 and own_limit < LATEST and own_until >= 0 and own_until <= ENDLESS
    and own_length >= 0 and own_length <= LATEST) then
    return { err = BAD_STATE }
  end
  if own_until < LATEST and own_until > now + own_length then own_until, is_healed = now + own_length, true end
end
