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

local now, mode, cost, full, unit = unpack_numbers('<ddddd', ARGV[1])
-- The time: the server's unless the caller brought one.
--
-- A lifetime is ceil(microseconds / 1000) + slack: the server counts whole milliseconds from the start
-- of the script. Under a manual clock keys live a minute longer, for their real time passes on its own.
local slack = 60000
if now < 0 then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1
end
local function decide(key, units)
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
-- Decides one limit for the first of UNITS callers: says the grant and the amount to commit, and that all callers have
-- this answer.
local grant, amount, callers = 0, forced, units
if capacity >= cost then grant, amount = 1, cost end
-- Answers with the grant, now, the debt as loaded, and its interval where that is not the unit.
local answer = interval == unit and pack('<ddd', grant, now, debt) or pack('<dddd', grant, now, debt, interval)
-- A denial that is charged is that of one caller. The last line opens what the other callers stand in.
if amount and mode == 1 then
  if grant == 0 and amount > 0 then callers = 1 end
  if grant == 1 then
    callers = 1
-- Admits further callers, up to UNITS, each after the charge of the one before. A debt at another interval is rescaled
-- by the first charge: what follows takes up the state anew.
while callers < units and interval == unit do
  local owed = debt + cost
  if full - owed < cost then break end
  debt, callers = owed, callers + 1
end
end
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
return answer, callers
end
-- Decides about each key for as many callers as ARGV[i + 1] says, with the numbers in ARGV[1]: as if they came one
-- after the other, at one time. The reply about a key is a list: for how many callers, and what; then for how many of
-- those behind them, and what; until all have theirs. Callers that are admitted share the state from before the first
-- of them: each charge between it and a caller is the same. Those that are denied share the state that denied them.
local replies = {}
for i = 1, #KEYS do
  local parts, left = {}, tonumber(ARGV[i + 1])
  while left > 0 do
    local fine, reply, count = pcall(decide, KEYS[i], left)
    -- Before Redis 7 what a command raises is a text.
    if not fine and type(reply) ~= 'table' then reply = { err = reply } end
    -- What is wrong with a key is the answer to all.
    if not fine or not count then count = left end
    parts[#parts + 1] = count
    parts[#parts + 1] = reply
    left = left - count
  end
  replies[i] = parts
end
return replies
