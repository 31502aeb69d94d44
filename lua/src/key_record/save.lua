-- Writes what stands, for as long as a part of it matters. A limit that does not expire has no end.
if own_until <= now then own_limit, own_until, own_length = 0, 0, 0 end
local kept_until = math.max(blocked_until, own_until)
if growth > 1 and grown > 0 then kept_until = math.max(kept_until, blocked_until + longest_block) end
local written = pack('<ddd', own_limit, own_until, own_length)
if length_of_block > 0 then written = pack('<ddd', blocked_until, length_of_block, grown) .. written end
if own_until >= LATEST then
  call('SET', record_key, written)
elseif kept_until > now then
  call('SET', record_key, written, 'PX', math.ceil((kept_until - now) / 1000) + slack)
else
  call('DEL', record_key)
end
