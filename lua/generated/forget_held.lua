-- Generated from lua/src.
-- Names shared by every script. After them each unpacks its arguments, and `clock.lua` follows.
--
-- KEYS  the state of each limit; all in one hash slot
-- ARGV[1]  little-endian doubles: clock (microseconds since 1970, or -1 for the server's),
--          units (how many times the cost is asked for; once in a script for one limit, which does not receive it),
--          mode (1 charge, 0 only look)
-- In a script for one limit the limit's own numbers follow in ARGV[1]. In a script for several,
-- ARGV[i + 1] holds those of KEYS[i], after its algorithm's place in the set, its group, and the time of
-- the charge that is given back (-1: of whichever; only a refund reads it).
-- There they begin at byte 25. Doubles carry whole microseconds until the year 2255.
--
-- Reply, per limit: a string of little-endian doubles: grant (how many units this limit has room
-- for, at most `units`), now, then the state as it was before anything was charged. What the
-- caller wants to know (remaining, waits) follows from that, so it is not computed here. In place of all of it:
-- -1 and now, of a script that did nothing since it cannot tell the window of a calendar (see `load_calendar.lua`).
--
-- An algorithm is a folder of fragments: `load` reads KEY with the limit's numbers and says capacity and
-- `forced` (an amount to commit even on a denial: 0 to heal a state stored ahead of now, the cost for a limit
-- that refused and counts denied costs, else nil), and a few values of its own; `commit` writes the state
-- with AMOUNT charged, and its lifetime; `reply` says `answer`; `refund` takes AMOUNT back, the newest first
-- or, if CHARGED_AT is a time, of the charge made then. The fragments stand in a row, and not in functions,
-- because making and calling those would cost a fifth of a script; refunds, which are seldom, make functions
-- of them. So a fragment assigns to no value that another one reads.
local call, pack, unpack_numbers = redis.call, struct.pack, struct.unpack
-- No time of ours is later, and no count as large: a value beyond is somebody else's.
local LATEST, ENDLESS = 9007199254740992, 1e300
local BAD_STATE = 'BADSTATE the value at this key was not written by this limiter'

local now, op, count = unpack_numbers('<ddd', ARGV[1])
-- The time: the server's unless the caller brought one.
--
-- A lifetime is ceil(microseconds / 1000) + slack: the server counts whole milliseconds from the start
-- of the script. Under a manual clock keys live a minute longer, for their real time passes on its own.
local slack = 60000
if now < 0 then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1
end
-- What is held, in a sorted set beside the states of the limits it counts for. Its members, by their scores:
--   'h' held first_end count token kept_until swept written_at longest_lease
--                                     at -inf: the weight that counts; before when no lease ends (0 when there is none), how
--                                     many reservations there are, the last fencing token, until when the set is kept,
--                                     when old calls were taken out of it, when this was written, how long the longest lease is.
--                                     (At most 64 bytes, which the server keeps in compact form.)
--   'r' id weight                     at minus the end of the lease; 's' in place of 'r': of a rule in shadow that had no
--                                     room, which does not count
--   'p' id                            at the price of a unit, where the call brought a limit of its own
--   'e' id                            at MARKS less the time until which, in milliseconds: a call that ended or renewed a
--                                     reservation, in case it is sent again; 'f' in place of 'e': it had ended for one of
--                                     the holders
-- A small set is searched from its start for the place of what is new: so the latest stand before the earlier ones. Scores
-- are whole (but for prices), and small enough for the server to keep them as integers.
--
-- All windows that a rule has had share the set. So there is no copy of the header, which a call under another window
-- could not find to change it.
--
-- ARGV[1]  now, op, limits (how many); then the numbers of ARGV[2] once more
-- ARGV[1 + i], for the limit of KEYS[i]: its algorithm's place, its group, its holder's number (0: none), price (what a
--          unit takes in the algorithm's measure), units (the cost), extra (what is charged; or the time of a charge
--          that is given back), kind (1: its measure is time; 2: its window begins with a charge; 3: it keeps an entry per
--          unit in a list, 4: in a sorted set; 0: others; -1: it keeps nothing); then its own numbers
-- ARGV[1 + limits + i]  the same at the limit that the rule states, if the call brought another; else empty
-- ARGV[1 + 2 * limits + j], for the holder of KEYS[limits + j]: weight, lease, longest (how long a charge counts), group,
--          price (0: the rule's own), timeout; then the member 'r' id weight of the reservation, and the id of the call
-- A call about one limit may come as ARGV[1] alone: the first, that of the limit, and in the last 89 bytes that of the
-- holder.
local MARKS, MOST_HELD, PARAMS = 4e15, 10000, 57
local RESERVATION_ID, CALL_ID, HEADER, HOLDER = 50, 74, 61, 89
local CHECK, PEEK, REFUND, CHARGE, RESERVE, COMMIT, BESIDE = 1, 2, 3, 4, 5, 6, -2
-- As in the other scripts: 1 charge, 0 only look.
local mode = op == PEEK and 0 or 1
-- Of leases that have ended one call charges so many, to all limits together, and those after so many entries of logs
-- no more. Where more have ended it answers UNSETTLED, having decided nothing: the caller asks again. (So that no call holds
-- the server for long.)
-- Of leases that a step of the clock back has made too long one call heals so many, and answers likewise.
local MOST_SETTLED, MOST_ENTRIES, MOST_HEALED, UNSETTLED = 250, 1000, 2500, -2
-- A look charges so many, and no more entries of logs than above, to copies of the states, and leaves these as they are.
-- Where more have ended it writes what it charged, as every look would have to do it anew.
local MOST_COPIED = 100
-- After a step of the clock back, for a look: when the last lease of a key ends at the latest.
local latest_ends = nil
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
-- Forgets the states of KEYS[1] to KEYS[count], and what is held in the others. Tokens grow on as long as a lease, of
-- which ARGV[j + 1] says the length, lasts.
for i = 1, count do call('DEL', KEYS[i]) end
for j = 1, #KEYS - count do
  local found = redis.pcall('ZRANGE', KEYS[count + j], '0', '0')
  if found.err and not string.find(found.err, 'WRONGTYPE') then return found end
  local holding = not found.err and open_holding(KEYS[count + j])
  call('DEL', KEYS[count + j])
  if holding and holding.token > 0 then
    holding.held, holding.count, holding.header, holding.lease = 0, 0, nil, unpack_numbers('<d', ARGV[1 + j])
    save(holding)
  end
end
return 1
