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

local now, mode, cost, limit, window, count_denied = unpack_numbers('<dddddd', ARGV[1])
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
-- Decides one limit for the first of UNITS callers: says the grant and the amount to commit, and that all callers have
-- this answer.
local grant, amount, callers = 0, forced, units
if capacity >= cost then grant, amount = 1, cost end
-- Answers with the grant, now, and start and both counts as loaded.
local answer = pack('<ddddd', grant, now, start, previous, current)
-- A denial that is charged is that of one caller. The last line opens what the other callers stand in.
if amount and mode == 1 then
  if grant == 0 and amount > 0 then callers = 1 end
  if grant == 1 then
    callers = 1
-- Admits further callers, up to UNITS, each after the charge of the one before.
local faded = previous * (window - offset) / window
while callers < units do
  local counted = current + cost
  if limit - (faded + counted) < cost then break end
  current, callers = counted, callers + 1
end
end
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
