-- Sliding log in a sorted set: a member per admitted unit, scored by its time. Members carry their
-- time and a number that tells apart those of one microsecond. An entry is gone when it is exactly
-- one window old; entries that are gone are removed by the next charge.
--
-- Numbers: cost, limit, window
-- State: members of a big-endian double (time) and a 4-byte number, in order of time
-- Reply: live entries, time of the newest, time of the one that must go before the cost fits
local length, live, newest, pivot, forced = 0, 0, 0, 0, nil
local first = call('ZRANGE', key, '0', '1')
if first[1] then
  local head, oldest, second = call('ZRANGE', key, '-1', '-1')[1], first[1], first[#first]
  if #head ~= 12 or #oldest ~= 12 or #second ~= 12 then return { err = BAD_STATE } end
  newest, oldest, second = unpack_numbers('>d', head), unpack_numbers('>d', oldest), unpack_numbers('>d', second)
  length = call('ZCARD', key)
  if not (newest >= 0 and newest <= LATEST and oldest >= 0 and oldest <= LATEST) then
    return { err = BAD_STATE }
  end
  local gone = now - window
  if oldest > gone then
    live = length
  elseif second > gone then
    live = length - 1
  else
    live = length - call('ZCOUNT', key, '-inf', gone)
  end
  local index = limit - cost
  if index >= 0 and index < live then
    pivot = index == length - 1 and oldest or set_helpers(key, now).at(length - 1 - index)
  end
  if newest > now then newest, forced = now, 0 end
end
local capacity = limit - live
