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
local key = KEYS[1]
-- Fixed window, aligned: windows begin at multiples of their length.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the window, count. Reply: start, count
local start, count, forced, running = now - now % window, 0, nil, false
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  local stored
  stored, count = unpack_numbers('<dd', state)
  if not (count > 0 and count < ENDLESS and stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  running = stored == start
  if stored < start then count = 0 elseif stored > start then forced = 0 end
end
local capacity = limit - count
if count_denied == 1 and capacity < cost then forced = cost end
-- Decides one limit, for one unit: says the grant and the amount to commit. The last line opens what the commit that
-- follows stands in.
local grant, amount = 0, forced
if capacity >= cost then grant, amount = 1, cost end
if amount and mode == 1 then
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
return answer
