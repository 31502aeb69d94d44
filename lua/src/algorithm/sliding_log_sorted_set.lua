-- Sliding log in a sorted set: a member per admitted unit, scored by its time. Members carry their
-- time and a number that tells apart those of one microsecond. An entry is gone when it is exactly
-- one window old; entries that are gone are removed by the next charge.
--
-- Numbers: cost, limit, window
-- State: members of a big-endian double (time) and a 4-byte number, in order of time.
-- Reply: live entries, time of the newest, time of the one that must go before the cost fits
local CHUNK = 1000

local function at(key, rank)
  local member = call('ZRANGE', key, rank, rank)[1]
  if #member ~= 12 then return nil end
  return unpack_numbers('>dI4', member)
end

local function load(key, arg)
  local cost, limit, window = unpack_numbers('<ddd', arg, PARAMS)
  local length = call('ZCARD', key)
  if length == 0 then return cost, limit, nil, 0, 0, nil, 0, window end
  local newest, oldest = at(key, '-1'), at(key, '0')
  if not (newest and oldest) then return nil end
  local live, gone, forced = length, now - window, nil
  if oldest <= gone then live = length - call('ZCOUNT', key, '-inf', gone) end
  local pivot = limit - cost
  if pivot < 0 or pivot >= live then
    pivot = nil
  elseif pivot == length - 1 then
    pivot = oldest
  else
    pivot = at(key, length - 1 - pivot)
    if not pivot then return nil end
  end
  if newest > now then newest, forced = now, 0 end
  return cost, limit - live, forced, live, length, pivot, newest, window
end

local function add(key, count, serial)
  while count > 0 do
    local chunk, some = {}, count < CHUNK and count or CHUNK
    for i = 1, some do
      chunk[2 * i - 1], chunk[2 * i] = now, pack('>dI4', now, serial)
      serial = serial + 1
    end
    call('ZADD', key, unpack(chunk, 1, 2 * some))
    count = count - some
  end
end

-- The number after the last one used in this microsecond.
local function next_serial(key)
  local member = call('ZRANGE', key, '-1', '-1')[1]
  if not member then return 0 end
  local time, serial = unpack_numbers('>dI4', member)
  return time == now and serial + 1 or 0
end

-- Entries whose time has not come yet count as of now.
local function heal(key)
  local future = call('ZREMRANGEBYSCORE', key, '(' .. string.format('%.0f', now), '+inf')
  add(key, future, next_serial(key))
end

local function commit(key, amount, live, length, _, newest, window)
  if live < length then call('ZREMRANGEBYRANK', key, '0', length - live - 1) end
  local serial = 0
  if newest == now then
    heal(key)
    serial = next_serial(key)
  end
  if amount == 1 then
    call('ZADD', key, now, pack('>dI4', now, serial))
  else
    add(key, amount, serial)
  end
  call('PEXPIRE', key, ttl(window))
end

local function reply(grant, _, live, _, pivot, newest)
  return pack('<ddddd', grant, now, live, newest, pivot or 0)
end
