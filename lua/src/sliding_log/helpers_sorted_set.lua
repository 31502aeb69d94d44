-- Looks into the set, adds many, heals. What is seldom needed is made when it is. (It holds no
-- local name from outside: so its own making costs a plain check next to nothing.)
local function set_helpers(key, now)
  local call, pack, unpack_numbers = redis.call, struct.pack, struct.unpack
  local CHUNK = 1000

  local function at(rank)
    return (unpack_numbers('>d', call('ZRANGE', key, rank, rank)[1]))
  end

  -- Members of one microsecond are numbered on.
  local function add(count)
    local newest, serial = call('ZRANGE', key, '-1', '-1')[1], 0
    if newest then
      local time, last = unpack_numbers('>dI4', newest)
      if time == now then serial = last + 1 end
    end
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

  -- Entries whose time has not come yet count as of now.
  local function heal()
    add(call('ZREMRANGEBYSCORE', key, '(' .. string.format('%.0f', now), '+inf'))
  end

  return { at = at, add = add, heal = heal }
end

