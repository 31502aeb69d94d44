local sub, floor = string.sub, math.floor

-- The end of the lease that is the first in a reply; nil when there is none.
local function first_end_of(leases)
  return leases[2] and -leases[2]
end

-- The set of a holder; nil when it is somebody else's.
local function open_holding(key)
  local first = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  local header, holding = first[1], { key = key, held = 0, count = 0, token = 0, kept_until = 0, swept = now,
    written_at = now, longest_lease = 0 }
  if not header then return holding end
  if first[2] ~= '-inf' or #header ~= HEADER then return nil end
  local held, first_end, count, token, kept_until, swept, written_at, longest_lease =
    unpack_numbers('<ddI4ddddd', header, 2)
  if not (written_at >= 0 and written_at <= LATEST and longest_lease >= 0 and longest_lease <= LATEST and held >= 0 and held <= ENDLESS and count >= 0 and count <= LATEST and token >= 0 and token <= LATEST) then
    return nil
  end
  -- Nothing is held, and it should be gone.
  if count == 0 and kept_until <= now and op ~= PEEK then
    call('DEL', key)
    return holding
  end
  holding.header, holding.held, holding.count, holding.token = header, held, count, token
  holding.kept_until, holding.swept, holding.stated_end = kept_until, swept, first_end
  holding.written_at, holding.longest_lease = written_at, longest_lease
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
  if holding.count == 0 then holding.kept_until, holding.longest_lease = now + holding.lease, 0 end
  if holding.marked_until and holding.marked_until > holding.kept_until then holding.kept_until = holding.marked_until end
  local first =
    of_right(holding, redis.pcall('ZREVRANGEBYSCORE', holding.key, '0', -LATEST, 'WITHSCORES', 'LIMIT', '0', '1'))
  local header = pack('<c1ddI4ddddd', 'h', holding.held, first_end_of(first) or 0, holding.count, holding.token,
    holding.kept_until, holding.swept, now, holding.longest_lease)
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

-- Whether more leases have ended than a look charges to copies; a log is given an entry for each unit.
local function has_many_ended(holding, is_log)
  local ended = call('ZREVRANGEBYSCORE', holding.key, '0', -now, 'LIMIT', '0', MOST_COPIED + 1)
  local units = 0
  for at = 1, is_log and #ended or 0 do
    if sub(ended[at], 1, 1) == 'r' then units = units + unpack_numbers('<d', ended[at], 18) end
  end
  return #ended > MOST_COPIED or units > MOST_ENTRIES
end

-- After a step of the clock back no lease ends later than the longest one that begins now. What only looks writes nothing.
-- Answers whether nothing is left to heal.
local function heal(holding, only_looks)
  local step, bound = holding.written_at - now, now + holding.longest_lease
  if step <= 0 then return true end
  local counted_until = math.min(holding.kept_until, bound + holding.longest)
  holding.kept_until, holding.swept = math.max(holding.kept_until - step, counted_until), math.min(holding.swept, now)
  if holding.first_end then holding.first_end = math.min(holding.first_end, bound) end
  if only_looks then
    latest_ends = latest_ends or {}
    latest_ends[holding.key] = bound
    return true
  end
  local score, is_late = -bound, '(' .. string.format('%.0f', -bound)
  local late = call('ZRANGEBYSCORE', holding.key, -LATEST, is_late, 'LIMIT', '0', MOST_HEALED)
  for first = 1, #late, 1000 do
    local pairs_of = {}
    for at = first, math.min(first + 999, #late) do
      pairs_of[#pairs_of + 1], pairs_of[#pairs_of + 2] = score, late[at]
    end
    call('ZADD', holding.key, unpack(pairs_of))
  end
  if #late == MOST_HEALED then return false end
  holding.written_at, holding.is_healed = now, true
  return true
end
