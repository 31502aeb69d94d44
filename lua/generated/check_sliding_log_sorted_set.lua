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

local now, mode, cost, limit, window = unpack_numbers('<ddddd', ARGV[1])
-- The time: the server's unless the caller brought one.
--
-- A lifetime is ceil(microseconds / 1000) + slack: the server counts whole milliseconds from the start
-- of the script. Under a manual clock keys live a minute longer, for their real time passes on its own.
local slack = 60000
if now < 0 then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1
end
-- Looks into the set, adds many, heals. What is seldom needed is made when it is. (It holds no
-- local name from outside: so its own making costs a plain check next to nothing.)
local function set_helpers(key, now)
  local call, pack, unpack_numbers = redis.call, struct.pack, struct.unpack
  local CHUNK = 1000

  local function at(rank)
    return (unpack_numbers('>d', call('ZRANGE', key, rank, rank)[1]))
  end

  -- Members of one microsecond are numbered on.
  local function add(count)
    local newest, serial = call('ZRANGE', key, '-1', '-1')[1], 0
    if newest then
      local time, last = unpack_numbers('>dI4', newest)
      if time == now then serial = last + 1 end
    end
    while count > 0 do
      local chunk, some = {}, count < CHUNK and count or CHUNK
      for i = 1, some do
        chunk[2 * i - 1], chunk[2 * i] = now, pack('>dI4', now, serial)
        serial = serial + 1
      end
      call('ZADD', key, unpack(chunk, 1, 2 * some))
      count = count - some
    end
  end

  -- Entries whose time has not come yet count as of now.
  local function heal()
    add(call('ZREMRANGEBYSCORE', key, '(' .. string.format('%.0f', now), '+inf'))
  end

  return { at = at, add = add, heal = heal }
end

local key = KEYS[1]
-- Sliding log in a sorted set: a member per admitted unit, scored by its time. Members carry their
-- time and a number that tells apart those of one microsecond. An entry is gone when it is exactly
-- one window old; entries that are gone are removed by the next charge.
--
-- Numbers: cost, limit, window
-- State: members of a big-endian double (time) and a 4-byte number, in order of time
-- Reply: live entries, time of the newest, time of the one that must go before the cost fits
local length, live, newest, pivot, forced = 0, 0, 0, 0, nil
local first = call('ZRANGE', key, '0', '1')
if first[1] then
  local head, oldest, second = call('ZRANGE', key, '-1', '-1')[1], first[1], first[#first]
  if #head ~= 12 or #oldest ~= 12 or #second ~= 12 then return { err = BAD_STATE } end
  newest, oldest, second = unpack_numbers('>d', head), unpack_numbers('>d', oldest), unpack_numbers('>d', second)
  length = call('ZCARD', key)
  if not (newest >= 0 and newest <= LATEST and oldest >= 0 and oldest <= LATEST) then
    return { err = BAD_STATE }
  end
  local gone = now - window
  if oldest > gone then
    live = length
  elseif second > gone then
    live = length - 1
  else
    live = length - call('ZCOUNT', key, '-inf', gone)
  end
  local index = limit - cost
  if index >= 0 and index < live then
    pivot = index == length - 1 and oldest or set_helpers(key, now).at(length - 1 - index)
  end
  if newest > now then newest, forced = now, 0 end
end
local capacity = limit - live
-- Decides one limit, for one unit: says the grant and the amount to commit. The last line opens what the commit that
-- follows stands in.
local grant, amount = 0, forced
if capacity >= cost then grant, amount = 1, cost end
if amount and mode == 1 then
-- Adds AMOUNT members of now, after those that are gone went.
if live < length then call('ZREMRANGEBYRANK', key, '0', length - live - 1) end
if amount == 1 and newest ~= now then
  call('ZADD', key, now, pack('>dI4', now, 0))
else
  local helpers = set_helpers(key, now)
  if newest == now then helpers.heal() end
  helpers.add(amount)
end
-- After a charge: gives the key its life, unless an earlier entry already did. An entry gives the log a life to the
-- end of its sixteenth of the window, plus a window: so of many charges only the first in each sixteenth has to
-- prolong it. Says `done`: 1, or why that was refused. (Not before the charge: what has written anything is no longer
-- refused for want of memory.)
local slice, done = window / 16, 1
if live == 0 or newest == now or newest - newest % slice ~= now - now % slice then
  done = redis.pcall('PEXPIRE', key, math.ceil((slice - now % slice + window) / 1000) + slack)
end
-- A user who may give no key a life is charged nothing.
if done ~= 1 then
  if amount > 0 then call('ZREMRANGEBYRANK', key, -amount, '-1') end
  error(done.err, 0)
end
end
-- Answers with the grant, now, how many entries live, and the times of the newest and of the pivot.
local answer = pack('<ddddd', grant, now, live, newest, pivot)
return answer
