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

local now, units, mode = unpack_numbers('<ddd', ARGV[1])
-- The time: the server's unless the caller brought one.
--
-- A lifetime is ceil(microseconds / 1000) + slack: the server counts whole milliseconds from the start
-- of the script. Under a manual clock keys live a minute longer, for their real time passes on its own.
local slack = 60000
if now < 0 then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1
end
-- One allotment in a call of several items: what `decide.lua` says of it, and a function that carries it out once it is
-- known what the others say. Of a call for which the region in charge of another one has yet to be asked (IS_OPEN), it
-- takes note only where units are lacking: the call is sent again.
local function allotment(key, arg)
local cost, demand, there, age, useful, span, trip, pace = unpack_numbers('<dddddddd', arg, 25)
-- An allotment: what the region in charge of a key has lent to this one, and what it last said of the key.
--
-- State: begun and five counts (how many units were asked for since BEGUN, and in each quarter of a span before that),
-- asked_at, denied_until and denied_cost (the region in charge denied that cost), contended_until (it lent less than it was
-- asked for), fits_at (when it expects room again), fresh_at (when the key will be as if never seen), ends (when the server
-- forgets all this). Then for each loan: units, valid_until, granted_at. GRANTED_AT is by the clock of the region in
-- charge, all else by that of this server.
local HEADER, LOAN, MOST_LOANS, QUARTERS = 104, 24, 16, 4
local quarter = span / QUARTERS
local begun, count, first, second, third, fourth = now, 0, 0, 0, 0, 0
local asked_at, denied_until, denied_cost, contended_until, fits_at, fresh_at, ends = -LATEST, 0, 0, 0, 0, 0, 0
local loans = {}
local state = call('GET', key)
if state then
  if #state < HEADER or (#state - HEADER) % LOAN > 0 or #state > HEADER + LOAN * MOST_LOANS then
    return { err = BAD_STATE }
  end
  begun, count, first, second, third, fourth, asked_at, denied_until, denied_cost, contended_until, fits_at, fresh_at, ends =
    unpack_numbers('<ddddddddddddd', state)
  local are_counts = count >= 0 and count < ENDLESS and first >= 0 and first < ENDLESS and second >= 0 and second < ENDLESS
    and third >= 0 and third < ENDLESS and fourth >= 0 and fourth < ENDLESS and denied_cost >= 0 and denied_cost < ENDLESS
  local are_times = begun >= 0 and begun <= LATEST and asked_at >= -LATEST and asked_at <= LATEST and denied_until >= 0
    and denied_until <= LATEST and contended_until >= 0 and contended_until <= LATEST and fits_at >= 0 and fits_at <= LATEST
    and fresh_at >= 0 and fresh_at <= LATEST and ends >= 0 and ends <= LATEST
  if not (are_counts and are_times) then return { err = BAD_STATE } end
  local last = now + age
  for at = 1, (#state - HEADER) / 8, 3 do
    local units, valid_until, granted_at = unpack_numbers('<ddd', state, HEADER + 8 * at - 7)
    if not (units > 0 and units <= LATEST and valid_until >= 0 and granted_at >= 0 and granted_at <= LATEST) then
      return { err = BAD_STATE }
    end
    if valid_until > last then valid_until = last end
    loans[at], loans[at + 1], loans[at + 2] = units, valid_until, granted_at
  end
end
-- After a step of the clock back nothing lasts longer than it may.
if denied_until > now + age then denied_until = now + age end
if begun > now then
  begun, count, first, second, third, fourth = now, 0, 0, 0, 0, 0
  asked_at, contended_until, fits_at, fresh_at, ends = -LATEST, 0, 0, 0, 0
end
-- Decides who decides of a call: the allotment, a denial that still holds, or the region in charge, which is then asked.
--
-- Numbers: cost, demand (what the call says of what is needed), age (how long a loan lasts), useful (how long a charge
-- counts), span (over which the rate is taken), trip (to the region in charge and back), pace (between two requests for a
-- loan). THERE says what the region in charge has made of this call already: 1 it has charged it, -1 it has denied it, 0
-- it was not asked.
local SPENT, DENIED, ELSEWHERE = 1, 0, 2
-- A region borrows what its callers ask for in so many trips, and in this time.
local TRIPS, AHEAD = 4, 50000
-- A rate at which fewer units are spent before a loan ends is none to lend for; nor is a loan that ends in fewer trips.
local LEAST_SPENT = 10
if now - begun >= quarter then
  local passed = math.floor((now - begun) / quarter)
  begun = begun + passed * quarter
  for _ = 1, math.min(passed, QUARTERS + 1) do
    count, first, second, third, fourth = 0, count, first, second, third
  end
end
count = count + demand
local rate = (count + first + second + third + fourth * (1 - (now - begun) / quarter)) / span

local left = 0
for at = 1, #loans, 3 do
  if loans[at + 1] > now then left = left + loans[at] end
end

local lends = rate * age >= LEAST_SPENT and age >= TRIPS * trip
-- A contended limit is shared in small portions. What is larger than one of them, the region in charge decides.
local is_contended = lends and now < contended_until and cost <= rate * pace
local is_denied = now < denied_until and cost >= denied_cost
local verdict = ELSEWHERE
if there > 0 or there == 0 and left >= cost then
  verdict = SPENT
elseif there < 0 or is_contended or is_denied then
  verdict = DENIED
end
  return verdict, function(is_refused, is_open)
    if is_open and verdict ~= ELSEWHERE then return pack('<dddddd', verdict, now, left, 0, 0, 0) end
-- Spends what `decide.lua` found, unless another limit of the call refuses (IS_REFUSED). Says also how much to borrow, and
-- takes note that it is asked for. What was not spent in time is answered, to be given back.
--
-- Reply: verdict, now, left, wait, fresh (the time until the key is as if never seen), want; then for each loan that has
-- ended: units, granted_at
-- A call that is refused says nothing of what is needed. What the region in charge has charged is not spent here.
local due = 0
if is_refused then
  count = count - demand
elseif verdict == SPENT and there == 0 then
  due = cost
end
left = left - due
-- The loans that end first are spent first.
local ended, rest = '', due
for at = 1, #loans, 3 do
  local units, valid_until, granted_at = loans[at], loans[at + 1], loans[at + 2]
  if valid_until <= now then
    ended = ended .. pack('<dd', units, granted_at)
    loans[at] = 0
  elseif rest > 0 then
    local taken = units < rest and units or rest
    loans[at], rest = units - taken, rest - taken
  end
end

local want = 0
local is_low = left < rate * (trip + pace) * 1.5
-- What was denied to a single unit is not lent. A call about which the region in charge was asked has borrowed.
local may_ask = (now >= denied_until or denied_cost > 1) and there == 0 and not is_refused
if lends and is_low and may_ask and now >= asked_at + pace then
  want = math.max(math.floor(rate * (now < contended_until and pace or math.min(age, TRIPS * trip + AHEAD))), 1)
  asked_at = now
end
local wait = 0
if verdict == DENIED then
  wait = math.max(is_denied and math.max(fits_at, denied_until) or asked_at + pace, now + 1) - now
end
local fresh = fresh_at > now and fresh_at - now or 0
local answer = pack('<dddddd', verdict, now, left, wait, fresh, want) .. ended
-- Writes the allotment. The server forgets it when nothing of it matters any more; to write that anew with every call
-- would take longer than all else.
local lent = ''
for at = 1, #loans, 3 do
  if loans[at] > 0 then lent = lent .. pack('<ddd', loans[at], loans[at + 1], loans[at + 2]) end
end
local keep = 2 * span
if denied_until - now > keep then keep = denied_until - now end
if contended_until - now > keep then keep = contended_until - now end
if lent ~= '' and age + useful > keep then keep = age + useful end
local lasts = ends - now
local is_lasting = lasts > keep / 2 and lasts <= 2 * keep
if not is_lasting then ends = now + keep end
local written = pack('<ddddddddddddd', begun, count, first, second, third, fourth, asked_at, denied_until, denied_cost,
  contended_until, fits_at, fresh_at, ends) .. lent
if is_lasting and state and #written == #state then
  call('SETRANGE', key, '0', written)
else
  call('SET', key, written, 'PX', math.ceil((ends - now) / 1000) + slack)
end
return answer
  end
end
-- Several limits, decided together. Limits of group 0 are enforced: each of them has room, or none
-- is charged. Every other group is a rule in shadow: charged when it has room itself and the
-- enforced ones were admitted, and never in the way of the others.
--
-- At the marks stand the fragments of each algorithm, in a branch for the limits that have it.
local loaded, grants, group_grant = {}, {}, { [0] = units }
for i = 1, #KEYS do
  local key, arg = KEYS[i], ARGV[i + 1]
  local which, group = unpack_numbers('<dd', arg)
if which == 0 then
-- Where an allotment lacks units, the call is not decided yet: nothing is charged.
local verdict, spend = allotment(key, arg)
if type(verdict) == 'table' then return verdict end
if verdict == 2 then mode = 0 end
loaded[i], grants[i] = { which, group, 1, nil, spend, verdict }, verdict == 1 and units or 0
end
if which == 1 then
local cost, limit, window, count_denied = unpack_numbers('<dddd', arg, 25)
-- Sliding window: the former window's count, weighted by how much of it is still in view, plus the
-- current one's.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the current window, previous count, current count. Reply: the same three
local offset = now % window
local start, previous, current, forced, running = now - offset, 0, 0, nil, false
local state = call('GET', key)
if state then
  if #state ~= 24 then return { err = BAD_STATE } end
  local stored
  stored, previous, current = unpack_numbers('<ddd', state)
  if not (stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if not (previous >= 0 and current >= 0 and previous + current < ENDLESS) then return { err = BAD_STATE } end
  if stored == start then
    running = current > 0
  elseif stored > start then
    forced = 0
  elseif stored + window == start then
    previous, current = current, 0
  else
    previous, current = 0, 0
  end
end
-- Multiplied before it is divided: exact as long as count times window stays below 2^53.
-- Costs are whole, so its fraction need not be cut off.
local capacity = limit - (previous * (window - offset) / window + current)
if count_denied == 1 and capacity < cost then forced = cost end
-- Says the grant: how many units there is room for.
local grant = 0
if capacity >= cost then grant = units > 1 and math.min(units, math.floor(capacity / cost)) or 1 end
loaded[i], grants[i] = { which, group, cost, forced, start, previous, current, window, running }, grant
end
if which == 2 then
local cost, full, unit = unpack_numbers('<ddd', arg, 25)
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
-- Says the grant: how many units there is room for.
local grant = 0
if capacity >= cost then grant = units > 1 and math.min(units, math.floor(capacity / cost)) or 1 end
loaded[i], grants[i] = { which, group, cost, forced, debt, kept, at, interval, unit }, grant
end
  local grant, least = grants[i], group_grant[group]
  if not least or grant < least then group_grant[group] = grant end
end

local replies = {}
for i = 1, #KEYS do
  local key, found, grant = KEYS[i], loaded[i], grants[i]
  local which, group, cost, amount = found[1], found[2], found[3], found[4]
  local shared = group_grant[group]
  if group_grant[0] < shared then shared = group_grant[0] end
  if shared > 0 then amount = shared * cost end
  local is_charged = amount and mode == 1
if which == 0 then
replies[i] = found[5](found[6] == 1 and shared == 0, mode == 0)
end
if which == 1 then
local start, previous, current, window, running = unpack(found, 5, 9)
if is_charged then
-- Writes start and both counts, AMOUNT added to the current one. A window with a count keeps the lifetime
-- that its first count gave it: to the end of the next one.
local counted, left = current + amount, start + window - now
if counted > 0 then left = left + window end
if running and counted > 0 then
  call('SETRANGE', key, '16', pack('<d', counted))
else
  call('SET', key, pack('<ddd', start, previous, counted), 'PX', math.ceil(left / 1000) + slack)
end
end
-- Answers with the grant, now, and start and both counts as loaded.
local answer = pack('<ddddd', grant, now, start, previous, current)
replies[i] = answer
end
if which == 2 then
local debt, kept, at, interval, unit = unpack(found, 5, 9)
if is_charged then
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
replies[i] = answer
end
end
return replies
