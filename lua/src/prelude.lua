-- Names and the clock, shared by every script.
--
-- KEYS  the state of each limit; all in one hash slot
-- ARGV[1]  little-endian doubles: clock (microseconds since 1970, or -1 for the server's),
--          units (how many times the cost is asked for), mode (1 charge, 0 only look)
-- In a script for one limit the limit's own numbers follow in ARGV[1]. In a script for several,
-- ARGV[i + 1] holds those of KEYS[i], after its algorithm's place in the set, its group, and the time of
-- the charge that is given back (-1: of whichever; only a refund reads it).
-- Either way they begin at byte PARAMS. Doubles carry whole microseconds until the year 2255.
--
-- Reply, per limit: a string of little-endian doubles: grant (how many units this limit has room
-- for, at most `units`), now, then the state as it was before anything was charged. What the
-- caller wants to know (remaining, waits) follows from that, so it is not computed here.
--
-- An algorithm is a folder of fragments: `load` reads KEY with the numbers in ARG and says cost, capacity
-- and `forced` (an amount to commit even on a denial: 0 to heal a state stored ahead of now, the cost for
-- a limit that refused and counts denied costs, else nil), and a few values of its own; `commit` writes
-- the state with AMOUNT charged, and its lifetime; `reply` answers; `refund` takes AMOUNT back, the newest
-- first or, if CHARGED_AT is a time, of the charge made then. A script for one limit is the fragments in a
-- row, because making and calling functions would cost a fifth of it; a script for several makes functions
-- of them. So a fragment assigns to no value that another one reads.
--
-- A lifetime is ceil(microseconds / 1000) + slack: the server counts whole milliseconds from the start
-- of the script. Under a manual clock keys live a minute longer, for their real time passes on its own.
local call, floor, ceil = redis.call, math.floor, math.ceil
local pack, unpack_numbers = struct.pack, struct.unpack
local PARAMS = 25
-- No time of ours is later, and no count as large: a value beyond is somebody else's.
local LATEST, ENDLESS = 9007199254740992, 1e300
local BAD_STATE = 'BADSTATE the value at this key was not written by this limiter'

local now, units, mode = unpack_numbers('<ddd', ARGV[1])
local slack = 60000
if now < 0 then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1
end
