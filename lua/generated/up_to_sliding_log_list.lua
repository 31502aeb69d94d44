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
-- Looks into the list, pushes many, heals. What is seldom needed is made when it is. (It holds no
-- local name from outside: so its own making costs a plain check next to nothing.)
local function list_helpers(key, now)
  local call, pack, unpack_numbers = redis.call, struct.pack, struct.unpack
  local CHUNK = 1000

  local function at(index)
    return (unpack_numbers('<d', call('LINDEX', key, index)))
  end

  -- How many entries, counted from the head, are newer than `bound`: the head is, the tail is not. Looks
  -- from the tail in growing steps, since few entries leave between two calls, then bisects.
  local function newer_than(bound, length)
    local low, high, step = 0, length - 1, 1
    while high - low > 1 do
      local middle = high - step
      if middle <= low then middle = math.floor((low + high) / 2) end
      if at(middle) > bound then low, step = middle, length else high, step = middle, step * 2 end
    end
    return high
  end

  local function push(count)
    local chunk, entry = {}, pack('<d', now)
    for i = 1, count < CHUNK and count or CHUNK do chunk[i] = entry end
    while count >= CHUNK do
      call('LPUSH', key, unpack(chunk, 1, CHUNK))
      count = count - CHUNK
    end
    if count > 0 then call('LPUSH', key, unpack(chunk, 1, count)) end
  end

  -- Entries whose time has not come yet count as of now.
  local function heal(length)
    if at(0) <= now then return end
    local future = at(-1) > now and length or newer_than(now, length)
    call('LTRIM', key, future, -1)
    push(future)
  end

  return { at = at, newer_than = newer_than, push = push, heal = heal }
end

local function decide(key, units)
-- Sliding log in a list: the time of every admitted unit, newest first. An entry is gone when it is
-- exactly one window old; entries that are gone are trimmed by the next charge.
--
-- Numbers: cost, limit, window
-- State: a double (microseconds) per entry
-- Reply: live entries, time of the newest, time of the one that must go before the cost fits
local length, live, newest, pivot, forced = 0, 0, 0, 0, nil
local head = call('LINDEX', key, '0')
if head then
  local oldest = call('LINDEX', key, '-1')
  if #head ~= 8 or #oldest ~= 8 then return { err = BAD_STATE } end
  newest, oldest, length = unpack_numbers('<d', head), unpack_numbers('<d', oldest), call('LLEN', key)
  if not (newest >= 0 and newest <= LATEST and oldest >= 0 and oldest <= LATEST) then
    return { err = BAD_STATE }
  end
  local gone = now - window
  if oldest > gone then
    live = length
  elseif newest > gone then
    -- Mostly but one.
    local second = call('LINDEX', key, '-2')
    if #second ~= 8 then return { err = BAD_STATE } end
    live = unpack_numbers('<d', second) > gone and length - 1 or list_helpers(key, now).newer_than(gone, length)
  end
  local index = limit - cost
  if index >= 0 and index < live then
    pivot = index == length - 1 and oldest or list_helpers(key, now).at(index)
  end
  if newest > now then newest, forced = now, 0 end
end
local capacity = limit - live
-- Decides one limit for the first of UNITS callers: says the grant and the amount to commit, and that all callers have
-- this answer.
local grant, amount, callers = 0, forced, units
if capacity >= cost then grant, amount = 1, cost end
-- Answers with the grant, now, how many entries live, and the times of the newest and of the pivot.
local answer = pack('<ddddd', grant, now, live, newest, pivot)
-- A denial that is charged is that of one caller. The last line opens what the other callers stand in.
if amount and mode == 1 then
  if grant == 0 and amount > 0 then callers = 1 end
  if grant == 1 then
    callers = 1
-- Admits further callers, up to UNITS, where all that is counted is whole: as many as there is room for.
callers = math.min(units, math.floor(capacity / cost))
amount = cost * callers
end
-- Pushes AMOUNT entries of now, after those that are gone went.
if live == 0 then
  if length > 0 then call('DEL', key) end
else
  if live == length - 1 then
    call('RPOP', key)
  elseif live < length then
    call('LTRIM', key, '0', live - 1)
  end
  if newest == now then list_helpers(key, now).heal(live) end
end
if amount == 1 then call('LPUSH', key, pack('<d', now)) else list_helpers(key, now).push(amount) end
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
  call('LTRIM', key, amount, '-1')
  error(done.err, 0)
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
