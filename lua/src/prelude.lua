-- Names and the clock, shared by every script.
--
-- An algorithm's file defines
--   load(key, arg) -> cost, capacity, forced, then up to five values of its own; nothing for a value
--     that is not ours. `forced` is an amount to commit even on a denial: 0 to heal a state stored
--     ahead of now, the cost for a limit that refused and counts denied costs, else nil
--   commit(key, amount, those values): writes the state with the amount charged, and its lifetime
--   reply(grant, charged, those values): the reply for this limit
--
-- KEYS  the state of each limit; all in one hash slot
-- ARGV[1]  little-endian doubles: clock (microseconds since 1970, or -1 for the server's),
--          units (how many times the cost is asked for), mode (1 charge, 0 only look)
-- In a script for one limit the limit's own numbers follow in ARGV[1]. In a script for several,
-- ARGV[i + 1] holds those of KEYS[i], after its algorithm's place in the set, its group, and a 0.
-- Either way they begin at byte PARAMS. Doubles carry whole microseconds until the year 2255.
--
-- Reply, per limit: a string of little-endian doubles: grant (how many units this limit has room
-- for, at most `units`), now, then the state as it was before anything was charged. What the
-- caller wants to know (remaining, waits) follows from that, so it is not computed here.
local call, floor, ceil = redis.call, math.floor, math.ceil
local pack, unpack_numbers = struct.pack, struct.unpack
local PARAMS = 25

local now, units, mode = unpack_numbers('<ddd', ARGV[1])
-- Under a manual clock keys live a minute longer, for their real time passes on its own.
local slack = 60000
if now < 0 then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1
end

-- Milliseconds for a key that is needed for `us` more microseconds. One is added because the
-- server counts from the start of the script, in whole milliseconds.
local function ttl(us)
  return ceil(us / 1000) + slack
end

local function bad_state()
  return redis.error_reply('BADSTATE the value at this key was not written by this limiter')
end
