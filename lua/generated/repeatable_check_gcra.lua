-- Generated from lua/src.
-- Makes a script repeatable: the first call with a request id runs it and stores its answer, later ones are answered with
-- what is stored and change nothing.
--
-- KEYS  last: the record of the request, in the slot of the others. The script is not shown it.
-- ARGV  last: the head of the record; before it, how long the server keeps the record: milliseconds, as text, since a number
--       would be printed for each command that takes it. The script is shown neither.
-- Record: the head, then the answer: 's' and a string, or 'l' and strings, each after its length.
-- Head: 'once', when the record ends by a manual clock (a double; beyond all times by the server's, whose own lifetime of the
--       key ends it), how long that was to be in microseconds, then what only the caller reads: which call it is, and on what terms.
-- What is no answer is not stored: an error, a number, which says that nothing was done, and what cannot tell the window of
-- a calendar (see `load_calendar.lua`).
--
-- Reply: that of the script, or the record. No answer begins as a record does: it begins with a double that is a small whole
-- number, whose first bytes are zero.
local record, head, keep = KEYS[#KEYS], ARGV[#ARGV], ARGV[#ARGV - 1]
local stored = redis.call('GET', record)
if stored then
  local mark, ends, length
  if #stored >= 20 then mark, ends, length = struct.unpack('<c4dd', stored) end
  if mark ~= 'once' then return { err = 'BADSTATE the value at this key was not written by this limiter' } end
  local now = struct.unpack('<d', ARGV[1])
  if ends > 1e300 or now < ends then
    local left, is_late = redis.call('PTTL', record), false
    if ends > 1e300 then
      is_late = left * 1000 > length
      if is_late then keep = string.format('%d', math.ceil(length / 1000)) end
    elseif ends > now + length then
      stored, is_late = 'once' .. struct.pack('<d', now + length) .. string.sub(stored, 13), true
    end
    -- One that was robbed of its lifetime gets another, and one that a step of the clock back made longer its own.
    if left < 0 or is_late then redis.call('SET', record, stored, 'PX', keep) end
    return stored
  end
  redis.call('DEL', record)
end

-- A write that does nothing: the server refuses it wherever it would refuse to store the answer, and then nothing has
-- been charged.
redis.call('SET', record, '', 'XX')

local function run()
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
local key = KEYS[1]
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
-- Decides one limit, for one unit: says the grant and the amount to commit. The last line opens what the commit that
-- follows stands in.
local grant, amount = 0, forced
if capacity >= cost then grant, amount = 1, cost end
if amount and mode == 1 then
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

KEYS[#KEYS], ARGV[#ARGV], ARGV[#ARGV - 1] = nil, nil, nil
local answer = run()
local kind, text = 's', answer
if type(answer) == 'table' then
  if answer.err then return answer end
  kind, text = 'l', ''
  for i = 1, #answer do text = text .. struct.pack('<I4c0', #answer[i], answer[i]) end
elseif type(answer) == 'number' or #answer == 16 and struct.unpack('<d', answer) == -1 then
  return answer
end
redis.call('SET', record, head .. kind .. text, 'PX', keep)
return answer
