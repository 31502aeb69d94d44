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
local cost, limit, resolution, factor, slots_per_e, count_denied = unpack_numbers('<dddddd', arg, 25)
-- Decay: a level that every slot which passes divides by a factor; an AR(1) filter.
--
-- Numbers: cost, limit, resolution (microseconds per slot), factor, slots_per_e (slots in which the
-- level falls by the factor e; only for the lifetime of the key), count_denied (0 or 1)
-- State: slot, level. Reply: the state as stored, so that what follows from it is exact
local slot, forced = (now - now % resolution) / resolution, nil
local stored, level, kept = slot, 0, 0
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  stored, kept = unpack_numbers('<dd', state)
  if not (stored >= 0 and stored <= LATEST and kept > 0 and kept < ENDLESS) then return { err = BAD_STATE } end
  if stored > slot then stored, forced = slot, 0 end
  level = kept
  if stored < slot then
    -- Repeated squaring, and not `^`: the C library's pow may round differently on another machine.
    local power, base, exponent = 1, factor, slot - stored
    while exponent > 0 do
      if exponent % 2 == 1 then power = power * base end
      base, exponent = base * base, math.floor(exponent / 2)
    end
    level = level / power
    -- A level this small is none.
    if level <= 1e-9 then stored, level, kept = slot, 0, 0 end
  end
end
-- Costs are whole, so its fraction need not be cut off.
local capacity = limit - level
if count_denied == 1 and capacity < cost then forced = cost end
return cost, capacity, forced, slot, stored, kept, level, resolution, factor, slots_per_e
end
refund_of[1] = function(key, amount, charged_at, slot, stored, kept, level, resolution, factor, slots_per_e)
local function commit(key, amount, slot, stored, kept, level, resolution, factor, slots_per_e)
-- Writes slot and level, AMOUNT added. The key lives until the level is none.
local risen = level + amount
local slots = math.ceil(math.log(risen / 1e-9) * slots_per_e) + 1
call('SET', key, pack('<dd', slot, risen), 'PX', math.ceil(((slot + slots) * resolution - now) / 1000) + slack)
end
-- Takes AMOUNT off the level. Of a charge made at CHARGED_AT: what the slots passed since made of it.
if charged_at then
  -- `^` may do here: nobody else has to come to the same last bit.
  amount = amount / factor ^ (slot - math.floor(charged_at / resolution))
end
if level - amount > 1e-9 then
  commit(key, -amount, slot, stored, kept, level, resolution, factor, slots_per_e)
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
local cost, limit, resolution, factor, slots_per_e, count_denied = unpack_numbers('<dddddd', arg, 25)
-- Decay: a level that every slot which passes divides by a factor; an AR(1) filter.
--
-- Numbers: cost, limit, resolution (microseconds per slot), factor, slots_per_e (slots in which the
-- level falls by the factor e; only for the lifetime of the key), count_denied (0 or 1)
-- State: slot, level. Reply: the state as stored, so that what follows from it is exact
local slot, forced = (now - now % resolution) / resolution, nil
local stored, level, kept = slot, 0, 0
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  stored, kept = unpack_numbers('<dd', state)
  if not (stored >= 0 and stored <= LATEST and kept > 0 and kept < ENDLESS) then return { err = BAD_STATE } end
  if stored > slot then stored, forced = slot, 0 end
  level = kept
  if stored < slot then
    -- Repeated squaring, and not `^`: the C library's pow may round differently on another machine.
    local power, base, exponent = 1, factor, slot - stored
    while exponent > 0 do
      if exponent % 2 == 1 then power = power * base end
      base, exponent = base * base, math.floor(exponent / 2)
    end
    level = level / power
    -- A level this small is none.
    if level <= 1e-9 then stored, level, kept = slot, 0, 0 end
  end
end
-- Costs are whole, so its fraction need not be cut off.
local capacity = limit - level
if count_denied == 1 and capacity < cost then forced = cost end
-- Says the grant: how many units there is room for.
local grant = 0
if capacity >= cost then grant = units > 1 and math.min(units, math.floor(capacity / cost)) or 1 end
loaded[i], grants[i] = { which, group, cost, forced, slot, stored, kept, level, resolution, factor, slots_per_e }, grant
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
local slot, stored, kept, level, resolution, factor, slots_per_e = unpack(found, 5, 11)
if is_charged then
-- Writes slot and level, AMOUNT added. The key lives until the level is none.
local risen = level + amount
local slots = math.ceil(math.log(risen / 1e-9) * slots_per_e) + 1
call('SET', key, pack('<dd', slot, risen), 'PX', math.ceil(((slot + slots) * resolution - now) / 1000) + slack)
end
-- Answers with the grant, now, and slot and level as stored.
local answer = pack('<dddd', grant, now, stored, kept)
replies[i] = answer
end
end
return replies
