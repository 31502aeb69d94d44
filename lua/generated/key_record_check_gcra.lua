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

local now, mode, takes_stored, first_block, growth, longest_block, units, refill, burst, cost, full, unit = unpack_numbers('<dddddddddddd', ARGV[1])
-- The time: the server's unless the caller brought one.
--
-- A lifetime is ceil(microseconds / 1000) + slack: the server counts whole milliseconds from the start
-- of the script. Under a manual clock keys live a minute longer, for their real time passes on its own.
local slack = 60000
if now < 0 then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1
end
local key, record_key, in_force = KEYS[1], KEYS[2], 0
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
if own_until > now and takes_stored == 1 then
in_force = own_until < LATEST and -own_limit or own_limit
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
end
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
-- Decides one limit, beside whose state something may stand. A denial by the limit begins a block, if the rule says so;
-- for a blocked key the reply has the room of its limit, and nothing is charged. The last line opens what the commit that
-- follows stands in.
local grant, amount, block = 0, forced, 0
if capacity >= cost then grant = 1 end
if blocked_until > now then
  block = blocked_until
elseif grant == 1 then
  amount = cost
elseif first_block > 0 and mode == 1 then
  -- Begins the block of a key that was denied: longer than the last one if that ended not long ago.
length_of_block = first_block
if growth > 1 and grown > 0 and now < blocked_until + longest_block then
  length_of_block = math.max(first_block, math.min(math.ceil(grown * growth), longest_block))
end
grown, blocked_until = length_of_block, now + length_of_block
  is_healed, block = true, -blocked_until
end
-- Whether all of it is over: then it is still there because it was robbed of its lifetime.
local is_over = key_record and blocked_until <= now and own_until <= now
  and not (growth > 1 and grown > 0 and now < blocked_until + longest_block)
if (is_healed or is_over) and mode == 1 then
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
end
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
-- Answers with the block, in_force, grant, now, the debt as loaded, and its interval where that is not the unit.
local answer = interval == unit and pack('<ddddd', block, in_force, grant, now, debt) or pack('<dddddd', block, in_force, grant, now, debt, interval)
return answer
