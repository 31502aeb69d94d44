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
-- Goes through the pairs from byte PLACE on, oldest first, to one that is not gone and with which their
-- counts come to AMOUNT. Says its slot and count (nil: there is none), its place, and the counts before it.
-- HEAD is the beginning of the value, TAIL what is to follow its end; what lies between is read in growing
-- chunks.
-- (It holds no local name from outside: so its making costs a plain check next to nothing.)
local function walk(key, head, tail, place, gone, amount)
  local unpack_numbers = struct.unpack
  local text, start, size, passed = head, 0, 88, 0
  while true do
    local is_last = #text < size
    if is_last then text = text .. tail end
    for position = place - start + 1, #text - 15, 16 do
      local slot, count = unpack_numbers('<dd', text, position)
      if slot > gone and passed + count >= amount then return slot, count, place, passed end
      place, passed = place + 16, passed + count
    end
    if is_last then return nil, 0, place, passed end
    start, size = start + size, size * 2
    text = redis.call('GETRANGE', key, start, start + size - 1)
  end
end

local load_of, refund_of = {}, {}
load_of[1] = function(key, arg)
local cost, limit, window, resolution, count_denied = unpack_numbers('<ddddd', arg, 25)
-- Sliding buckets: a count per slot of the window, kept as one string: the newest slot with its
-- count and the sum of the others, then (slot, count) of every other slot, oldest first. Empty slots
-- take no room. A check in the newest slot reads and writes the head alone, however many slots there are, and
-- one that writes nothing reads no further than to the oldest pair that matters to it.
--
-- Numbers: cost, limit, window, resolution (microseconds per slot), count_denied (0 or 1)
-- State: slot, current, past, then pairs
-- Reply: slot, current, past, the newest slot with a count (any, if there is none), and, when refused,
--   the slot that must go before the cost fits
local horizon = now - window
local slot, gone = (now - now % resolution) / resolution, (horizon - horizon % resolution) / resolution
local current, past, forced, oldest, oldest_count = 0, 0, nil, nil, 0
-- The pairs to be written: those stored from byte FIRST on (nil: none), then TAIL. No TAIL: just those stored.
local first, tail = nil, ''
-- The head and the oldest pairs.
local head = call('GETRANGE', key, '0', '87')
if head ~= '' then
  if #head < 24 or #head % 16 ~= 8 then return { err = BAD_STATE } end
  local stored
  if #head > 24 then
    stored, current, past, oldest, oldest_count = unpack_numbers('<ddddd', head)
  else
    stored, current, past = unpack_numbers('<ddd', head)
  end
  if not (stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if not (current >= 0 and past >= 0 and current + past < ENDLESS) then return { err = BAD_STATE } end
  if stored <= gone then
    current, past, oldest = 0, 0, nil
  elseif stored > slot then
    -- The clock stepped back: all that was counted in slots to come counts as of the current one. Nothing is
    -- gone that was there when it was written.
    local stored_pairs = call('GETRANGE', key, '24', '-1')
    local kept = #stored_pairs
    if kept % 16 ~= 0 then return { err = BAD_STATE } end
    oldest, forced, first = nil, 0, 24 + kept
    while kept > 0 do
      local pair_slot, count = unpack_numbers('<dd', stored_pairs, kept - 15)
      if pair_slot < slot then break end
      current, past, kept = current + count, past - count, kept - 16
    end
    tail = string.sub(stored_pairs, 1, kept)
  else
    first = 24
    if stored == slot then
      tail = nil
    else
      -- The pairs will be written again, those beyond the head unseen.
      if #head == 88 and call('STRLEN', key) % 16 ~= 8 then return { err = BAD_STATE } end
      if current > 0 then
        tail = pack('<dd', stored, current)
        past, current = past + current, 0
      end
    end
    if oldest and oldest <= gone then
      local passed
      oldest, oldest_count, first, passed = walk(key, head, tail or '', first, gone, 0)
      past, tail = past - passed, tail or ''
    end
  end
  if not (past >= 0) then return { err = BAD_STATE } end
elseif call('EXISTS', key) == 1 then
  return { err = BAD_STATE }
end
local capacity, newest, pivot, newest_count = limit - past - current, slot, slot, 0
if current == 0 and past > 0 then
  local last = tail ~= '' and tail or call('GETRANGE', key, '-16', '-1')
  newest, newest_count = unpack_numbers('<dd', last, #last - 15)
end
if capacity < cost then
  local surplus = cost - capacity
  if count_denied == 1 then
    forced = cost
    if mode == 1 then surplus = surplus + cost end
  end
  if oldest and surplus <= oldest_count then
    pivot = oldest
  elseif surplus <= past and surplus > past - newest_count then
    pivot = newest
  elseif surplus <= past then
    pivot = walk(key, head, tail or '', first, gone, surplus) or slot
  end
end
-- What takes back reads all pairs, of which `load` may have seen the oldest alone.
if #head == 88 and call('STRLEN', key) % 16 ~= 8 then return { err = BAD_STATE } end
return cost, capacity, forced, slot, current, past, first, tail, newest, pivot, resolution, window
end
refund_of[1] = function(key, amount, charged_at, slot, current, past, first, tail, newest, pivot, resolution, window)
local function commit(key, amount, slot, current, past, first, tail, newest, pivot, resolution, window)
-- Writes the head, AMOUNT added to the current count, and the pairs unless they are those stored: then the
-- state is of the current slot, which gave it its lifetime.
if tail then
  local left, others = slot * resolution + window - now, first and call('GETRANGE', key, first, '-1') or ''
  call('SET', key, pack('<ddd', slot, current + amount, past) .. others .. tail, 'PX', math.ceil(left / 1000) + slack)
else
  call('SETRANGE', key, '8', pack('<d', current + amount))
end
end
-- Takes AMOUNT from the slots, the newest first. Of a charge made at CHARGED_AT: from the slot of that time.
local others = (first and call('GETRANGE', key, first, '-1') or '') .. (tail or '')
local charged_in = charged_at and math.floor(charged_at / resolution)
if not charged_in or charged_in == slot then
  local taken = amount < current and amount or current
  current, amount = current - taken, amount - taken
end
local position = #others - 15
while amount > 0 and position > 0 do
  local pair_slot, count = unpack_numbers('<dd', others, position)
  if not charged_in or charged_in == pair_slot then
    local taken = amount < count and amount or count
    amount, past, count = amount - taken, past - taken, count - taken
    local rest = count > 0 and pack('<dd', pair_slot, count) or ''
    others = string.sub(others, 1, position - 1) .. rest .. string.sub(others, position + 16)
  end
  position = position - 16
end
if past + current > 0 then
  commit(key, 0, slot, current, past, nil, others, newest, pivot, resolution, window)
else
  call('DEL', key)
end
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
local cost, limit, window, resolution, count_denied = unpack_numbers('<ddddd', arg, 25)
-- Sliding buckets: a count per slot of the window, kept as one string: the newest slot with its
-- count and the sum of the others, then (slot, count) of every other slot, oldest first. Empty slots
-- take no room. A check in the newest slot reads and writes the head alone, however many slots there are, and
-- one that writes nothing reads no further than to the oldest pair that matters to it.
--
-- Numbers: cost, limit, window, resolution (microseconds per slot), count_denied (0 or 1)
-- State: slot, current, past, then pairs
-- Reply: slot, current, past, the newest slot with a count (any, if there is none), and, when refused,
--   the slot that must go before the cost fits
local horizon = now - window
local slot, gone = (now - now % resolution) / resolution, (horizon - horizon % resolution) / resolution
local current, past, forced, oldest, oldest_count = 0, 0, nil, nil, 0
-- The pairs to be written: those stored from byte FIRST on (nil: none), then TAIL. No TAIL: just those stored.
local first, tail = nil, ''
-- The head and the oldest pairs.
local head = call('GETRANGE', key, '0', '87')
if head ~= '' then
  if #head < 24 or #head % 16 ~= 8 then return { err = BAD_STATE } end
  local stored
  if #head > 24 then
    stored, current, past, oldest, oldest_count = unpack_numbers('<ddddd', head)
  else
    stored, current, past = unpack_numbers('<ddd', head)
  end
  if not (stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if not (current >= 0 and past >= 0 and current + past < ENDLESS) then return { err = BAD_STATE } end
  if stored <= gone then
    current, past, oldest = 0, 0, nil
  elseif stored > slot then
    -- The clock stepped back: all that was counted in slots to come counts as of the current one. Nothing is
    -- gone that was there when it was written.
    local stored_pairs = call('GETRANGE', key, '24', '-1')
    local kept = #stored_pairs
    if kept % 16 ~= 0 then return { err = BAD_STATE } end
    oldest, forced, first = nil, 0, 24 + kept
    while kept > 0 do
      local pair_slot, count = unpack_numbers('<dd', stored_pairs, kept - 15)
      if pair_slot < slot then break end
      current, past, kept = current + count, past - count, kept - 16
    end
    tail = string.sub(stored_pairs, 1, kept)
  else
    first = 24
    if stored == slot then
      tail = nil
    else
      -- The pairs will be written again, those beyond the head unseen.
      if #head == 88 and call('STRLEN', key) % 16 ~= 8 then return { err = BAD_STATE } end
      if current > 0 then
        tail = pack('<dd', stored, current)
        past, current = past + current, 0
      end
    end
    if oldest and oldest <= gone then
      local passed
      oldest, oldest_count, first, passed = walk(key, head, tail or '', first, gone, 0)
      past, tail = past - passed, tail or ''
    end
  end
  if not (past >= 0) then return { err = BAD_STATE } end
elseif call('EXISTS', key) == 1 then
  return { err = BAD_STATE }
end
local capacity, newest, pivot, newest_count = limit - past - current, slot, slot, 0
if current == 0 and past > 0 then
  local last = tail ~= '' and tail or call('GETRANGE', key, '-16', '-1')
  newest, newest_count = unpack_numbers('<dd', last, #last - 15)
end
if capacity < cost then
  local surplus = cost - capacity
  if count_denied == 1 then
    forced = cost
    if mode == 1 then surplus = surplus + cost end
  end
  if oldest and surplus <= oldest_count then
    pivot = oldest
  elseif surplus <= past and surplus > past - newest_count then
    pivot = newest
  elseif surplus <= past then
    pivot = walk(key, head, tail or '', first, gone, surplus) or slot
  end
end
-- Says the grant: how many units there is room for.
local grant = 0
if capacity >= cost then grant = units > 1 and math.min(units, math.floor(capacity / cost)) or 1 end
loaded[i], grants[i] = { which, group, cost, forced, slot, current, past, first, tail, newest, pivot, resolution, window }, grant
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
local slot, current, past, first, tail, newest, pivot, resolution, window = unpack(found, 5, 13)
if is_charged then
-- Writes the head, AMOUNT added to the current count, and the pairs unless they are those stored: then the
-- state is of the current slot, which gave it its lifetime.
if tail then
  local left, others = slot * resolution + window - now, first and call('GETRANGE', key, first, '-1') or ''
  call('SET', key, pack('<ddd', slot, current + amount, past) .. others .. tail, 'PX', math.ceil(left / 1000) + slack)
else
  call('SETRANGE', key, '8', pack('<d', current + amount))
end
end
-- Answers with the grant, now, the head as loaded, and the slots that `load` looked up for the waits.
local answer = pack('<ddddddd', grant, now, slot, current, past, newest, pivot)
replies[i] = answer
end
end
return replies
