-- Looks into the list, pushes many, heals. What is seldom needed is made when it is. (It holds no
-- local name from outside: so its own making costs a plain check next to nothing.)
local function list_helpers(key, now)
  local call, pack, unpack_numbers = redis.call, struct.pack, struct.unpack
  local CHUNK = 1000

  local function at(index)
    return (unpack_numbers('<d', call('LINDEX', key, index)))
  end

  -- How many entries, counted from the head, are newer than `bound`: the head is, the tail is not. Looks
  -- from the tail in growing steps, since few entries leave between two calls, then bisects.
  local function newer_than(bound, length)
    local low, high, step = 0, length - 1, 1
    while high - low > 1 do
      local middle = high - step
      if middle <= low then middle = math.floor((low + high) / 2) end
      if at(middle) > bound then low, step = middle, length else high, step = middle, step * 2 end
    end
    return high
  end

  local function push(count)
    local chunk, entry = {}, pack('<d', now)
    for i = 1, count < CHUNK and count or CHUNK do chunk[i] = entry end
    while count >= CHUNK do
      call('LPUSH', key, unpack(chunk, 1, CHUNK))
      count = count - CHUNK
    end
    if count > 0 then call('LPUSH', key, unpack(chunk, 1, count)) end
  end

  -- Entries whose time has not come yet count as of now.
  local function heal(length)
    if at(0) <= now then return end
    local future = at(-1) > now and length or newer_than(now, length)
    call('LTRIM', key, future, -1)
    push(future)
  end

  return { at = at, newer_than = newer_than, push = push, heal = heal }
end

