-- What is held, in a sorted set beside the states of the limits it counts for. Its members, by their scores:
--   'h' held count token kept_until   at -inf: the weight that counts, how many reservations there are, the last fencing
--                                     token, until when the set is kept
--   'p' id                            at minus the price of a unit, where the call brought a limit of its own
--   'r' id weight                     at the end of the lease; 's' in place of 'r': of a rule in shadow that had no room,
--                                     which does not count
--   'e' id                            beyond all times: a call that ended or renewed a reservation, in case it is
--                                     sent again; at MARKS and the time until which
--
-- ARGV[1]  now, op, limits (how many)
-- ARGV[1 + i], for the limit of KEYS[i]: its algorithm's place, its group, its holder's number (0: none), price (what a
--          unit takes in the algorithm's measure), units (the cost), extra (what is charged; or the time of a charge
--          that is given back), kind (1: its measure is time; -1: it keeps nothing); then its own numbers
-- ARGV[1 + limits + i]  the same at the limit that the rule states, if the call brought another; else empty
-- ARGV[1 + 2 * limits + j], for the holder of KEYS[limits + j]: weight, lease, longest (how long a charge counts), group,
--          price (0: the rule's own), timeout; then the reservation's id and that of the call
local sub, floor = string.sub, math.floor
local MARKS, MOST_HELD, PARAMS = 1e17, 10000, 57
local RESERVATION_ID, CALL_ID = 49, 65

-- The set of a holder; nil when it is somebody else's.
local function open_holding(key)
  local first = call('ZRANGE', key, '0', '1', 'WITHSCORES')
  local header, holding = first[1], { key = key, held = 0, count = 0, token = 0, kept_until = 0 }
  if not header then return holding end
  if first[2] ~= '-inf' or #header ~= 33 then return nil end
  local held, count, token, kept_until = unpack_numbers('<dddd', header, 2)
  if not (held >= 0 and held <= ENDLESS and count >= 0 and count <= LATEST and token >= 0 and token <= LATEST) then return nil end
  holding.header, holding.held, holding.count, holding.token, holding.kept_until = header, held, count, token, kept_until
  local ends = tonumber(first[4])
  -- A price stands before the first lease.
  if ends and ends < 0 then ends = tonumber(call('ZRANGEBYSCORE', key, '0', LATEST, 'WITHSCORES', 'LIMIT', '0', '1')[2]) end
  if ends and ends <= LATEST then holding.first_end = ends end
  return holding
end

-- Writes what changed. Without a reservation the token is kept for a lease.
local function save(holding)
  if holding.count == 0 then holding.kept_until = now + holding.lease end
  if holding.marked_until and holding.marked_until > holding.kept_until then holding.kept_until = holding.marked_until end
  local header = 'h' .. pack('<dddd', holding.held, holding.count, holding.token, holding.kept_until)
  if holding.header then call('ZREM', holding.key, holding.header) end
  call('ZADD', holding.key, '-inf', header)
  call('PEXPIRE', holding.key, math.ceil((holding.kept_until - now) / 1000) + slack)
  holding.header = header
end

local function prolong(holding, kept_until)
  if kept_until > holding.kept_until then holding.kept_until = kept_until end
end

-- The end of the last lease that counts; 0 when there is none.
local function last_end(key)
  local skipped, after = 0, '(' .. string.format('%.0f', now)
  while true do
    local last = call('ZREVRANGEBYSCORE', key, LATEST, after, 'WITHSCORES', 'LIMIT', skipped, 1)
    if not last[1] then return 0 end
    if sub(last[1], 1, 1) == 'r' then return tonumber(last[2]) end
    skipped = skipped + 1
  end
end

-- The end of the lease by which so much weight is free; 0 when that is never.
local function frees_at(key, weight)
  local skipped, after = 0, '(' .. string.format('%.0f', now)
  while true do
    local leases = call('ZRANGEBYSCORE', key, after, LATEST, 'WITHSCORES', 'LIMIT', skipped, 100)
    for at = 1, #leases, 2 do
      if sub(leases[at], 1, 1) == 'r' then weight = weight - unpack_numbers('<d', leases[at], 18) end
      if weight <= 0 then return tonumber(leases[at + 1]) end
    end
    if #leases < 200 then return 0 end
    skipped = skipped + 100
  end
end
