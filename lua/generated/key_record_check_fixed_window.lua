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

local now, mode, takes_stored, first_block, growth, longest_block, cost, limit, window, count_denied = unpack_numbers('<dddddddddd', ARGV[1])
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
-- The limit that is stored for the key takes the place of the rule's.
limit = own_limit
end
if blocked_until > now then count_denied = 0 end
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
-- Writes start and count, AMOUNT added. A window that is running keeps the lifetime it was given when it
-- was opened.
if running then
  call('SETRANGE', key, '8', pack('<d', count + amount))
else
  call('SET', key, pack('<dd', start, count + amount), 'PX', math.ceil((start + window - now) / 1000) + slack)
end
end
-- Answers with the block, in_force, grant, now, and start and count as loaded.
local answer = pack('<dddddd', block, in_force, grant, now, start, count)
return answer
