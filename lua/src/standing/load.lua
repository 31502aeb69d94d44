-- What stands beside the state of one key, as STANDING_KEY says: until when the key is blocked, when the last block
-- ended (or will) that began with a denial and how long that one was to last, the limit that is stored for the key and
-- until when it holds (LATEST: for ever). What there is none of is 0.
local blocked_until, ended_at, last_block, stored, stored_until = 0, 0, 0, 0, 0
local standing = call('GET', standing_key)
if standing then
  if #standing ~= 40 then return { err = BAD_STATE } end
  blocked_until, ended_at, last_block, stored, stored_until = unpack_numbers('<ddddd', standing)
  if not (blocked_until >= 0 and blocked_until <= ENDLESS and ended_at >= 0 and ended_at <= ENDLESS
    and last_block >= 0 and last_block <= LATEST and stored >= 0 and stored < LATEST and stored_until >= 0
    and stored_until <= ENDLESS) then
    return { err = BAD_STATE }
  end
end
