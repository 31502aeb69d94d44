-- Sliding log in a list: the time of every admitted unit, newest first. An entry is gone when it is
-- exactly one window old; entries that are gone are trimmed by the next charge.
--
-- Numbers: cost, limit, window
-- State: a double (microseconds) per entry
-- Reply: live entries, time of the newest, time of the one that must go before the cost fits
local length, live, newest, pivot, forced = 0, 0, 0, 0, nil
local head = call('LINDEX', key, '0')
if head then
  local oldest = call('LINDEX', key, '-1')
  if #head ~= 8 or #oldest ~= 8 then return { err = BAD_STATE } end
  newest, oldest, length = unpack_numbers('<d', head), unpack_numbers('<d', oldest), call('LLEN', key)
  if not (newest >= 0 and newest <= LATEST and oldest >= 0 and oldest <= LATEST) then
    return { err = BAD_STATE }
  end
  local gone = now - window
  if oldest > gone then
    live = length
  elseif newest > gone then
    -- Mostly but one.
    local second = call('LINDEX', key, '-2')
    if #second ~= 8 then return { err = BAD_STATE } end
    live = unpack_numbers('<d', second) > gone and length - 1 or list_helpers(key, now).newer_than(gone, length)
  end
  local index = limit - cost
  if index >= 0 and index < live then
    pivot = index == length - 1 and oldest or list_helpers(key, now).at(index)
  end
  if newest > now then newest, forced = now, 0 end
end
local capacity = limit - live
