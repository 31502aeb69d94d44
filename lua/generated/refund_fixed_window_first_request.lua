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
local load_of, refund_of = {}, {}
load_of[1] = function(key, arg)
local cost, limit, window, count_denied = unpack_numbers('<dddd', arg, 25)
-- Fixed window that opens at the first counted check.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the window, count. Reply: start, count
local start, count, forced, running = now, 0, nil, false
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  local stored
  stored, count = unpack_numbers('<dd', state)
  if not (count > 0 and count < ENDLESS and stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if stored > now then
    forced = 0
  elseif now - stored < window then
    start, running = stored, true
  else
    count = 0
  end
end
local capacity = limit - count
if count_denied == 1 and capacity < cost then forced = cost end
return cost, capacity, forced, start, count, window, running
end
refund_of[1] = function(key, amount, charged_at, start, count, window, running)
local function commit(key, amount, start, count, window, running)
-- Writes start and count, AMOUNT added. A window that is running keeps the lifetime it was given when it
-- was opened.
if running then
  call('SETRANGE', key, '8', pack('<d', count + amount))
else
  call('SET', key, pack('<dd', start, count + amount), 'PX', math.ceil((start + window - now) / 1000) + slack)
end
end
-- Takes AMOUNT back from the count. Of a charge made at CHARGED_AT: not from a window that began later.
if charged_at and charged_at < start then amount = 0 end
if count > amount then commit(key, -amount, start, count, window, running) else call('DEL', key) end
end
-- Gives back the cost of each limit; the driver that follows then looks at what is left. The number after
-- a limit's group is the time of the charge that is undone, or -1: then the newest is given back, whoever
-- was charged it. When the clock stepped back since, the limiter cannot know whether a charge still counts: nothing is
-- touched. (`forced` is then set, and only then: for refunds no limit counts denied costs.)
-- All limits are loaded before one is touched, for a fragment may end the script.
local loaded = {}
for i = 1, #KEYS do
  local arg = ARGV[i + 1]
  local which, _, time = unpack_numbers('<ddd', arg)
  local found = { load_of[which](KEYS[i], arg) }
  if not found[2] then return found[1] end
  found.which, found.charged_at, loaded[i] = which, time >= 0 and time, found
end
for i = 1, #KEYS do
  local found = loaded[i]
  local charged_at = found.charged_at
  if not charged_at or charged_at <= now and not found[3] then
    refund_of[found.which](KEYS[i], found[1], charged_at, unpack(found, 4, 12))
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
if which == 1 then
local cost, limit, window, count_denied = unpack_numbers('<dddd', arg, 25)
-- Fixed window that opens at the first counted check.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the window, count. Reply: start, count
local start, count, forced, running = now, 0, nil, false
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  local stored
  stored, count = unpack_numbers('<dd', state)
  if not (count > 0 and count < ENDLESS and stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if stored > now then
    forced = 0
  elseif now - stored < window then
    start, running = stored, true
  else
    count = 0
  end
end
local capacity = limit - count
if count_denied == 1 and capacity < cost then forced = cost end
-- Says the grant: how many units there is room for.
local grant = 0
if capacity >= cost then grant = units > 1 and math.min(units, math.floor(capacity / cost)) or 1 end
loaded[i], grants[i] = { which, group, cost, forced, start, count, window, running }, grant
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
if which == 1 then
local start, count, window, running = unpack(found, 5, 8)
if is_charged then
-- Writes start and count, AMOUNT added. A window that is running keeps the lifetime it was given when it
-- was opened.
if running then
  call('SETRANGE', key, '8', pack('<d', count + amount))
else
  call('SET', key, pack('<dd', start, count + amount), 'PX', math.ceil((start + window - now) / 1000) + slack)
end
end
-- Answers with the grant, now, and start and count as loaded.
local answer = pack('<dddd', grant, now, start, count)
replies[i] = answer
end
end
return replies
