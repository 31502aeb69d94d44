local sub, floor = string.sub, math.floor

-- The end of the lease that is the first in a reply; nil when there is none.
local function first_end_of(leases)
  return leases[2] and -leases[2]
end

-- The set of a holder; nil when it is somebody else's.
local function open_holding(key)
  local first = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  local header, holding = first[1], { key = key, held = 0, count = 0, token = 0, kept_until = 0, swept = now }
  if not header then return holding end
  if first[2] ~= '-inf' or #header ~= HEADER then return nil end
  local held, first_end, count, token, kept_until, swept = unpack_numbers('<dddddd', header, 2)
  if not (held >= 0 and held <= ENDLESS and count >= 0 and count <= LATEST and token >= 0 and token <= LATEST) then
    return nil
  end
  -- Nothing is held, and it should be gone.
  if count == 0 and kept_until <= now and op ~= PEEK then
    call('DEL', key)
    return holding
  end
  holding.header, holding.held, holding.count, holding.token = header, held, count, token
  holding.kept_until, holding.swept, holding.stated_end = kept_until, swept, first_end
  holding.first_end = first_end_of(call('ZREVRANGEBYSCORE', key, '0', -LATEST, 'WITHSCORES', 'LIMIT', '0', '1'))
  return holding
end

-- The reply. A user without the right to the command leaves no new set, which would have no life.
local function of_right(holding, reply)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not holding.header then call('DEL', holding.key) end
  error(reply.err, 0)
end

-- Writes what changed. Without a reservation the token is kept for a lease.
local function save(holding)
  if holding.count == 0 then holding.kept_until = now + holding.lease end
  if holding.marked_until and holding.marked_until > holding.kept_until then holding.kept_until = holding.marked_until end
  local first =
    of_right(holding, redis.pcall('ZREVRANGEBYSCORE', holding.key, '0', -LATEST, 'WITHSCORES', 'LIMIT', '0', '1'))
  local header = 'h' .. pack('<dddddd', holding.held, first_end_of(first) or 0, holding.count, holding.token,
    holding.kept_until, holding.swept)
  if holding.header ~= header then
    call('ZADD', holding.key, '-inf', header)
    if holding.header then call('ZREM', holding.key, holding.header) end
  end
  of_right(holding, redis.pcall('PEXPIRE', holding.key, math.ceil((holding.kept_until - now) / 1000) + slack))
  holding.header = header
end

local function prolong(holding, kept_until)
  if kept_until > holding.kept_until then holding.kept_until = kept_until end
end
