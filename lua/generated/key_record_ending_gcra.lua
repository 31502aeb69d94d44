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
local load_of, commit_of, refund_of = {}, {}, {}
load_of[1] = function(key, arg)
local cost, full, unit = unpack_numbers('<ddd', arg, 137)
-- GCRA: a debt of time that leaks one microsecond per microsecond. It is kept relative to its own
-- time, because an absolute time in a double is too coarse for rates above a million per second. Beside it
-- stands the interval that a unit took when it was counted: where the limit has changed since, the debt leaks
-- at that one, and what counts is the units.
--
-- Numbers: cost (microseconds of debt it adds), full (debt at which the burst is used up), unit (the interval:
-- microseconds of debt that one unit adds)
-- State: debt, at, interval (and perhaps what `lasting.lua` reads). Reply: debt as of now, and the interval if it is
-- another than the unit
local debt, interval, forced = 0, unit, nil
-- The debt as stored, and its time.
local kept, at = 0, 0
local state = call('GET', key)
if state then
  if #state ~= 24 and #state ~= 32 then return { err = BAD_STATE } end
  kept, at, interval = unpack_numbers('<ddd', state)
  if not (kept > 0 and kept < ENDLESS and at >= 0 and at <= LATEST) then return { err = BAD_STATE } end
  debt = kept
  if at > now then
    forced = 0
  else
    debt = debt - (now - at)
    if debt < 0 then debt = 0 end
  end
end
local capacity = full - debt
if interval ~= unit then
  if not (interval > 0 and interval <= LATEST) then return { err = BAD_STATE } end
  capacity = full - debt / interval * unit
end
return cost, capacity, forced, debt, kept, at, interval, unit
end
commit_of[1] = function(key, grant, amount, debt, kept, at, interval, unit)
if amount then
-- Writes the debt, AMOUNT added, as of now; a charge at another interval rescales it, so that the units stay. The
-- key lives until it has leaked away, and on to the end of a slice of time: a power of two, some twentieth of the
-- debt. So charges in quick succession share the life that the first of them gave: to write no more than the
-- value costs less than half as much.
local owed, counted = debt + amount, interval
if interval ~= unit and amount > 0 then owed, counted = debt / interval * unit + amount, unit end
local ends, ended = now + owed, at + kept
-- The highest power of two in the debt, by S. M. Rump's algorithm: no library of every Lua finds it. The factors are
-- 2^52 + 1 and 1 - 2^-53.
local scaled = owed * 4503599627370497
local slice = (scaled - 0.99999999999999988897769753748 * scaled) / 16
local is_shared = kept >= 16 * slice and kept < 32 * slice and ended - ended % slice == ends - ends % slice
if is_shared then
  call('SETRANGE', key, '0', interval == unit and pack('<dd', owed, now) or pack('<ddd', owed, now, counted))
else
  local left = ends - ends % slice + slice - now
  call('SET', key, pack('<ddd', owed, now, counted), 'PX', math.ceil(left / 1000) + slack)
end
end
-- Answers with the grant, now, the debt as loaded, and its interval where that is not the unit.
local answer = interval == unit and pack('<ddd', grant, now, debt) or pack('<dddd', grant, now, debt, interval)
return answer
end
refund_of[1] = function(key, amount, charged_at, debt, kept, at, interval, unit)
local function commit(key, amount, debt, kept, at, interval, unit)
-- Writes the debt, AMOUNT added, as of now; a charge at another interval rescales it, so that the units stay. The
-- key lives until it has leaked away, and on to the end of a slice of time: a power of two, some twentieth of the
-- debt. So charges in quick succession share the life that the first of them gave: to write no more than the
-- value costs less than half as much.
local owed, counted = debt + amount, interval
if interval ~= unit and amount > 0 then owed, counted = debt / interval * unit + amount, unit end
local ends, ended = now + owed, at + kept
-- The highest power of two in the debt, by S. M. Rump's algorithm: no library of every Lua finds it. The factors are
-- 2^52 + 1 and 1 - 2^-53.
local scaled = owed * 4503599627370497
local slice = (scaled - 0.99999999999999988897769753748 * scaled) / 16
local is_shared = kept >= 16 * slice and kept < 32 * slice and ended - ended % slice == ends - ends % slice
if is_shared then
  call('SETRANGE', key, '0', interval == unit and pack('<dd', owed, now) or pack('<ddd', owed, now, counted))
else
  local left = ends - ends % slice + slice - now
  call('SET', key, pack('<ddd', owed, now, counted), 'PX', math.ceil(left / 1000) + slack)
end
end
-- Takes AMOUNT off the debt. Of a charge made at CHARGED_AT: less what may have leaked since, by whichever
-- interval is the shorter.
if charged_at then
  local leaked = now - charged_at
  if interval < unit then leaked = leaked * (unit / interval) end
  amount = amount - leaked
  if amount < 0 then amount = 0 end
end
if interval ~= unit then amount = amount / unit * interval end
if debt > amount then commit(key, -amount, debt, kept, at, interval, unit) else call('DEL', key) end
end
local ARGV = ARGV
if #ARGV == 1 then
  local all = ARGV[1]
  ARGV = { all, sub(all, 25, -HOLDER - 1), '', sub(all, -HOLDER) }
end
local limits, which, group, holder_of, price_of, units, extra, kind = count, {}, {}, {}, {}, {}, {}, {}
for i = 1, limits do
  which[i], group[i], holder_of[i], price_of[i], units[i], extra[i], kind[i] = unpack_numbers('<ddddddd', ARGV[1 + i])
end
local holdings, keys, is_due, only_looks, entries = {}, {}, false, op == PEEK, 0
-- By limit: how many entries a look has added to a sorted set, which it takes out again.
local borrowed = {}
local function has_log(number)
  for i = 1, limits do
    if holder_of[i] == number and kind[i] >= 3 then return true end
  end
end
for i = 1, limits do keys[i] = KEYS[i] end
for j = 1, #ARGV - 1 - 2 * limits do
  local holding = open_holding(KEYS[limits + j])
  if not holding then return { err = BAD_STATE } end
  local arg = ARGV[1 + 2 * limits + j]
  holding.weight, holding.lease, holding.longest, holding.group, holding.price, holding.timeout =
    unpack_numbers('<dddddd', arg)
  holding.id, holding.call_id = sub(arg, RESERVATION_ID, RESERVATION_ID + 15), sub(arg, CALL_ID)
  holding.named = sub(arg, RESERVATION_ID, CALL_ID - 1)
  holdings[j] = holding
  if holding.first_end and holding.first_end <= now then
    is_due, only_looks = true, only_looks and not has_many_ended(holding, has_log(j))
  end
end
if is_due and op == PEEK then
  -- A write that changes nothing: where the server would refuse to write, a look decides as if the leases were yet to end.
  local holding = holdings[1]
  local refused = redis.pcall('ZADD', holding.key, 'XX', '-inf', holding.header or '')
  if type(refused) == 'table' and refused.err then is_due, only_looks = false, true end
end
for j = 1, #holdings do
  if not heal(holdings[j], only_looks) then return UNSETTLED end
end

-- What stands beside the states of keys: their blocks and limits of their own. Its keys are the last ones.
--
-- The numbers of each limit go on at byte 57, before its own: the number of its key record (0: none), takes_stored (1: a limit
-- that is stored takes the place of this one), counts_denied (1: a denied cost is charged), first_block, growth and
-- longest_block, asked (the cost), most_charged (of a charge, in limits; 0: no bound), refill (the time in which the limit
-- is admitted anew) and burst (0: as much as the limit).
PARAMS = 137
-- The most entries that a log may have.
local MOST_LOGGED = 100000
local record_of, counts_denied, key_records, own_grants = {}, {}, {}, {}

local function open_key_record(record_key)
  -- What stands beside the state of one key, as the record of the key says: until when the key is, or was, blocked, how long that was
-- to last, how long the last block was to last that began with a denial, the limit that is stored for the key, until when
-- it holds (LATEST: for ever), and how long that was to be. What there is none of is 0. Of a key that was never blocked
-- only the last three are kept. After a step of the clock back, a block begins now, and a limit is stored now.
local blocked_until, length_of_block, grown, own_limit, own_until, own_length, is_healed = 0, 0, 0, 0, 0, 0, false
local key_record = call('GET', record_key)
if key_record then
  if #key_record == 24 then
    own_limit, own_until, own_length = unpack_numbers('<ddd', key_record)
  else
    if #key_record ~= 48 then return { err = BAD_STATE } end
    blocked_until, length_of_block, grown, own_limit, own_until, own_length = unpack_numbers('<dddddd', key_record)
    if not (blocked_until >= 0 and blocked_until <= ENDLESS and length_of_block >= 0 and length_of_block <= LATEST
      and grown >= 0 and grown <= LATEST) then
      return { err = BAD_STATE }
    end
    if blocked_until > now + length_of_block then blocked_until, is_healed = now + length_of_block, true end
  end
  if not (own_limit >= 0 and own_limit < LATEST and own_until >= 0 and own_until <= ENDLESS
    and own_length >= 0 and own_length <= LATEST) then
    return { err = BAD_STATE }
  end
  if own_until < LATEST and own_until > now + own_length then own_until, is_healed = now + own_length, true end
end
  return {
    key = record_key, is_stored = key_record, blocked_until = blocked_until, length_of_block = length_of_block, grown = grown,
    own_limit = own_limit, own_until = own_until, own_length = own_length, is_healed = is_healed, in_force = 0,
  }
end

-- Begins a block, or writes what a step of the clock back has healed.
local function write_block(key_record, begins)
  local record_key, blocked_until, length_of_block = key_record.key, key_record.blocked_until, key_record.length_of_block
  local grown, own_limit = key_record.grown, key_record.own_limit
  local own_until, own_length = key_record.own_until, key_record.own_length
  local first_block, growth, longest_block = key_record.first_block, key_record.growth, key_record.longest_block
  if begins then
    -- Begins the block of a key that was denied: longer than the last one if that ended not long ago.
length_of_block = first_block
if growth > 1 and grown > 0 and now < blocked_until + longest_block then
  length_of_block = math.max(first_block, math.min(math.ceil(grown * growth), longest_block))
end
grown, blocked_until = length_of_block, now + length_of_block
  end
  -- Writes what stands, for as long as a part of it matters. A limit that does not expire has no end.
if own_until <= now then own_limit, own_until, own_length = 0, 0, 0 end
local kept_until = math.max(blocked_until, own_until)
if growth > 1 and grown > 0 then kept_until = math.max(kept_until, blocked_until + longest_block) end
local written = pack('<ddd', own_limit, own_until, own_length)
if length_of_block > 0 then written = pack('<ddd', blocked_until, length_of_block, grown) .. written end
if own_until >= LATEST then
  call('SET', record_key, written)
elseif kept_until > now then
  call('SET', record_key, written, 'PX', math.ceil((kept_until - now) / 1000) + slack)
else
  call('DEL', record_key)
end
  key_record.blocked_until = blocked_until
end

-- Whether what is stored is over.
local function is_over(found)
  local key_record, blocked_until, own_until, grown = found.is_stored, found.blocked_until, found.own_until, found.grown
  local growth, longest_block = found.growth, found.longest_block
  -- Whether all of it is over: then it is still there because it was robbed of its lifetime.
local is_over = key_record and blocked_until <= now and own_until <= now
  and not (growth > 1 and grown > 0 and now < blocked_until + longest_block)
  return is_over
end

-- The interval of a debt, and the debt that uses up a burst, at a limit.
local function interval_at(own_limit, refill, burst)
  local units, unit, cost, full = 0, 0, 0, 0
  -- The numbers of the limit OWN_LIMIT, which takes the place of the rule's: UNITS of cost, REFILL the time in which the
-- limit is admitted anew, BURST (0: as much as the limit). The interval is rounded as `on_grid` of the crate `sluicegate`
-- rounds it: down to a multiple of a power of two. (The highest power in a number is found as in `commit.lua`.) Stored
-- under another algorithm, the limit may be larger than a burst may be, which is 2^32.
local taken, most = own_limit, burst
if burst == 0 then
  if taken > 4294967296 then taken = 4294967296 end
  most = taken
end
local interval = refill / taken
local scaled = most * interval * 4503599627370497
local power = scaled - 0.99999999999999988897769753748 * scaled
if power < most * interval then power = power * 2 end
local scale = 4503599627370496 / power
local steps = interval * scale
unit = (steps - steps % 1) / scale
cost, full = units * unit, most * unit
  return unit, full
end

-- A limit's numbers at the limit that is stored for its key.
local function at_stored(i, arg)
  local key_record = key_records[record_of[i]]
  local takes_stored, _, _, _, _, cost, most_charged, refill, burst = unpack_numbers('<ddddddddd', arg, 65)
  if takes_stored == 0 or key_record.own_until <= now then return arg end
  local price, at_limit, own_limit = 1, '', key_record.own_limit
  -- Only a log bounds what is charged; it was perhaps stored under another algorithm.
  if most_charged > 0 then own_limit = math.min(own_limit, MOST_LOGGED) end
  key_record.in_force = key_record.own_until < LATEST and -own_limit or own_limit
  if op == COMMIT or op == CHARGE then
    if most_charged > 0 then cost = math.min(cost, most_charged * own_limit) end
  end
  local amount, peeked = cost, op == CHARGE and 1 or 0
  if kind[i] == 1 then
    local full
    price, full = interval_at(own_limit, refill, burst)
    amount = cost * price
    at_limit = pack('<ddd', (cost + peeked) * price, full, price)
    local holding = holdings[holder_of[i]]
    if holding then holding.longest = math.max(holding.longest, math.min(math.ceil(full), LATEST)) end
  else
    at_limit = pack('<dd', cost + peeked, own_limit)
  end
  local extra_at = (op == COMMIT or op == CHARGE) and pack('<d', amount) or sub(arg, 41, 48)
  return sub(arg, 1, 24) .. pack('<dd', price, cost + peeked) .. extra_at .. sub(arg, 49, PARAMS - 1) .. at_limit
    .. sub(arg, PARAMS + #at_limit)
end

local record_count = 0
for i = 1, limits do
  local number, _, counts = unpack_numbers('<ddd', ARGV[1 + i], 57)
  record_of[i], counts_denied[i] = number, counts
  record_count = math.max(record_count, record_of[i])
end
for s = 1, record_count do
  local key_record = open_key_record(KEYS[#KEYS - record_count + s])
  if key_record.err then return key_record end
  key_record.was_blocked = key_record.blocked_until > now
  key_records[s] = key_record
end
for i = 1, limits do
  local key_record, arg, stated = key_records[record_of[i]], ARGV[1 + i], ARGV[1 + limits + i]
  if key_record then
    key_record.first_block, key_record.growth, key_record.longest_block = unpack_numbers('<ddd', arg, 81)
    key_record.is_healed = key_record.is_healed or is_over(key_record)
    if stated ~= '' then ARGV[1 + limits + i] = at_stored(i, stated) end
    key_record.in_force = 0
    ARGV[1 + i] = at_stored(i, arg)
    price_of[i], units[i], extra[i] = unpack_numbers('<ddd', ARGV[1 + i], 25)
  end
end
-- Charges to a limit what was held until its lease ended. The life of what is written is reckoned from then.
local function charge_late(i, ended_at, weight, price)
  local key, arg, real = keys[i], ARGV[1 + limits + i], now
  if arg == '' then arg = ARGV[1 + i] end
  if price and kind[i] == 1 then
    -- The last number of such a limit is what a unit takes. (The rule may have had another algorithm when it was reserved.)
    arg = sub(arg, 1, PARAMS + 15) .. pack('<d', price)
  else
    price = select(4, unpack_numbers('<dddd', arg))
  end
  now = ended_at
  local found = { load_of[which[i]](key, arg) }
  -- By the calendar, a window before the last one: it no longer counts.
  if not found[2] then
    now = real
    return
  end
  if found[3] == 0 then
    now = real
    found = { load_of[which[i]](key, arg) }
  end
  if not found[2] then
    -- It ended in a window of the calendar that is over.
    now = real
    return
  end
  local amount = math.max(math.min(weight * price, LATEST + found[2]), 0)
  local before = call('PTTL', key)
  if borrowed[i] then
    -- As many are live as there are: what is gone is left to calls that write.
    found[4], borrowed[i] = found[5], borrowed[i] + amount
  end
  commit_of[which[i]](key, 0, amount, unpack(found, 4, 12))
  if kind[i] >= 3 then entries = entries + amount end
  local after = call('PTTL', key)
  if after > before then
    -- It was given a longer life. (Less may be left than before without, where time goes on in a script. A shorter one is left
    -- as it is.)
    -- What is over by now may yet matter to what ended after it: it stays for the rest of this script.
    call('PEXPIRE', key, math.max(after - floor((real - now) / 1000), 1))
  end
  now = real
end

-- Charges, to the limits of a holder, what one reservation held until its lease ended.
local function charge_ended_one(number, member, ended_at, writes)
  local holding, price = holdings[number], 'p' .. sub(member, 2, 17)
  local own = call('ZSCORE', holding.key, price)
  if sub(member, 1, 1) == 'r' then
    local weight = unpack_numbers('<d', member, 18)
    holding.held = holding.held - weight
    for i = 1, limits do
      if holder_of[i] == number and kind[i] >= 0 then charge_late(i, ended_at, weight, own and tonumber(own)) end
    end
  end
  if own and writes then call('ZREM', holding.key, price) end
  holding.count = holding.count - 1
end

-- The leases that have ended, in the order of those ends, then of the ids, so many at most; and whether there are more. The
-- set has those of one end in the other order.
local function next_ended(key, most)
  local found, ended = call('ZREVRANGEBYSCORE', key, '0', -now, 'WITHSCORES', 'LIMIT', '0', most + 1), {}
  local is_cut, last_end = #found > 2 * most, found[#found]
  -- Of those of the last end there may be more than were read.
  if is_cut and found[2] == last_end then
    return call('ZRANGEBYSCORE', key, last_end, last_end, 'WITHSCORES', 'LIMIT', '0', most), true
  end
  local first = 1
  while first < #found and not (is_cut and found[first + 1] == last_end) do
    local last = first
    while found[last + 3] == found[first + 1] do last = last + 2 end
    for at = last, first, -2 do
      ended[#ended + 1], ended[#ended + 2] = found[at], found[at + 1]
    end
    first = last + 2
  end
  return ended, is_cut
end

-- Charges what was held until its lease ended, before anything else is done. Answers how many those are, and whether
-- there are more.
local function charge_ended(number, most, writes)
  local holding, members = holdings[number], {}
  local ended, is_cut = next_ended(holding.key, most)
  for at = 1, #ended, 2 do
    if writes and entries >= MOST_ENTRIES then
      is_cut = true
      break
    end
    charge_ended_one(number, ended[at], -ended[at + 1], writes)
    members[#members + 1] = ended[at]
  end
  if #members > 0 and writes then
    call('ZREM', holding.key, unpack(members))
    save(holding)
  end
  return #members, is_cut
end

-- Charges what has ended of all holders; answers whether nothing is left.
local function settle(writes)
  local left = floor(MOST_SETTLED / limits)
  for j = 1, #holdings do
    local count, is_cut = charge_ended(j, left, writes)
    left = left - count
    if is_cut then return false end
  end
  return true
end

-- What is held may be charged to a state long after it ended, when somebody comes again: to the state as it was
-- then, which for that long must not expire where what is charged later depends on it.
local function keep_states()
  for i = 1, limits do
    local holding = holdings[holder_of[i]]
    if holding and holding.count > 0 and (kind[i] == 1 or kind[i] == 2) then
      local left, wanted = call('PTTL', keys[i]), math.ceil((holding.kept_until - now) / 1000) + slack
      if left >= 0 and left < wanted then call('PEXPIRE', keys[i], wanted) end
    end
  end
end

-- Whether every state is one of ours, before any is charged.
local function find_foreign()
  for i = 1, limits do
    local found = { load_of[which[i]](keys[i], ARGV[1 + i]) }
    if not found[2] then return found[1] end
  end
end
-- What a step of the clock back has healed is written, whatever the call then answers.
for s = 1, #key_records do
  if key_records[s].is_healed then write_block(key_records[s], false) end
end
if is_due then
  local foreign = find_foreign()
  if foreign then return foreign end
  if not settle(true) then
    keep_states()
    return UNSETTLED
  end
end
local mark = holdings[1].call_id
for answer, kind_of_mark in pairs({ [0] = 'f', 'e' }) do
  if call('ZSCORE', holdings[1].key, kind_of_mark .. mark) then return answer end
end

local is_held = 1
for j = 1, #holdings do
  local holding = holdings[j]
  local named = holding.named
  for _, kept in ipairs({ 'r', 's' }) do
    if call('ZSCORE', holding.key, kept .. named) then holding.member, holding.counts = kept .. named, kept == 'r' end
  end
  if not holding.member then is_held = 0 end
end

-- Of what holds nothing, a rule in shadow charges to all of its limits what all of them have room for.
local loaded, amounts, group_room = {}, {}, {}
for i = 1, limits do
  local holding = holdings[holder_of[i]]
  local found = { load_of[which[i]](keys[i], ARGV[1 + i]) }
  if not found[2] then return found[1] end
  loaded[i] = found
  if holding.member and not holding.counts then
    local room = floor(found[2] / price_of[i])
    if room > 0 and room * price_of[i] > found[2] then room = room - 1 end
    room = math.max(room - holding.held, 0)
    group_room[group[i]] = math.min(room, group_room[group[i]] or room)
  end
end
for i = 1, limits do
  local holding, amount = holdings[holder_of[i]], extra[i]
  if not holding.member or op ~= COMMIT then
    amount = 0
  elseif not holding.counts then
    amount = math.min(units[i], group_room[group[i]]) * price_of[i]
  end
  if amount > 0 and amount - loaded[i][2] > LATEST then return -1 end
  amounts[i] = amount
end

local function let_go(holding)
  call('ZREM', holding.key, holding.member)
  if holding.price > 0 then call('ZREM', holding.key, 'p' .. holding.id) end
  if holding.counts then holding.held = holding.held - holding.weight end
  holding.count = holding.count - 1
end

for j = 1, #holdings do
  local holding = holdings[j]
  if holding.member then
    if op == COMMIT then
      let_go(holding)
    else
      call('ZADD', holding.key, -now - holding.lease, holding.member)
      holding.longest_lease = math.max(holding.count > 1 and holding.longest_lease or 0, holding.lease)
      prolong(holding, now + holding.lease + holding.longest)
    end
    if j == 1 then
      if now - holding.swept > holding.timeout then
        call('ZREMRANGEBYSCORE', holding.key, MARKS - math.floor(now / 1000), MARKS)
        holding.swept = now
      end
      call('ZADD', holding.key, MARKS - math.ceil((now + holding.timeout) / 1000), (is_held == 1 and 'e' or 'f') .. mark)
      holding.marked_until = now + holding.timeout
    end
  end
end
for i = 1, limits do
  -- What is still held will be charged as well.
  local holding = holdings[holder_of[i]]
  local over = kind[i] == 1 and math.min(amounts[i] + holding.held * price_of[i] - loaded[i][2], LATEST) or 0
  if over > 0 then prolong(holding, now + holding.lease + holding.longest + over) end
  -- A state of a time that has not come yet is healed.
  if (amounts[i] > 0 or loaded[i][3]) and kind[i] >= 0 then
    commit_of[which[i]](keys[i], 0, amounts[i], unpack(loaded[i], 4, 12))
  end
end
for j = 1, #holdings do
  if holdings[j].member or holdings[j].is_healed then save(holdings[j]) end
end
keep_states()
return is_held
