-- Sliding log in a list: the time of every admitted unit, newest first. An entry is gone when it is
-- exactly one window old; entries that are gone are trimmed by the next charge.
--
-- Numbers: cost, limit, window
-- State: one whole number of microseconds per entry.
-- Reply: live entries, time of the newest, time of the one that must go before the cost fits
local CHUNK = 1000

local function at(key, index)
  return tonumber(call('LINDEX', key, index))
end

-- How many entries, counted from the head, are newer than `bound`: the head is, the tail is not. Looks from
-- the tail in growing steps, since few entries leave between two calls, then bisects.
local function newer_than(key, bound, length)
  local low, high, step = 0, length - 1, 1
  while high - low > 1 do
    local middle = high - step
    if middle <= low then middle = floor((low + high) / 2) end
    if at(key, middle) > bound then low, step = middle, length else high, step = middle, step * 2 end
  end
  return high
end

local function load(key, arg)
  local cost, limit, window = unpack_numbers('<ddd', arg, PARAMS)
  local newest = call('LINDEX', key, '0')
  if not newest then return cost, limit, nil, 0, 0, nil, 0, window end
  local oldest, length = at(key, '-1'), call('LLEN', key)
  newest = tonumber(newest)
  if not (newest and oldest) then return nil end
  local live, gone, forced = length, now - window, nil
  if oldest <= gone then
    live = newest > gone and newer_than(key, gone, length) or 0
  end
  local pivot = limit - cost
  if pivot < 0 or pivot >= live then
    pivot = nil
  elseif pivot == length - 1 then
    pivot = oldest
  else
    pivot = at(key, pivot)
  end
  if newest > now then newest, forced = now, 0 end
  return cost, limit - live, forced, live, length, pivot, newest, window
end

local function push(key, count)
  local chunk = {}
  for i = 1, count < CHUNK and count or CHUNK do chunk[i] = now end
  while count >= CHUNK do
    call('LPUSH', key, unpack(chunk, 1, CHUNK))
    count = count - CHUNK
  end
  if count > 0 then call('LPUSH', key, unpack(chunk, 1, count)) end
end

-- Entries whose time has not come yet count as of now.
local function heal(key, length)
  if at(key, 0) <= now then return end
  local future = at(key, -1) > now and length or newer_than(key, now, length)
  call('LTRIM', key, future, -1)
  push(key, future)
end

local function commit(key, amount, live, length, _, newest, window)
  if live == 0 then
    if length > 0 then call('DEL', key) end
  else
    if live < length then call('LTRIM', key, 0, live - 1) end
    if newest == now then heal(key, live) end
  end
  if amount == 1 then call('LPUSH', key, now) else push(key, amount) end
  call('PEXPIRE', key, ttl(window))
end

local function reply(grant, _, live, _, pivot, newest)
  return pack('<ddddd', grant, now, live, newest, pivot or 0)
end
