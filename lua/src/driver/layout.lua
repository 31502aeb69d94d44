-- What is held, in a sorted set beside the states of the limits it counts for. Its members, by their scores:
--   'h' held first_end count token kept_until swept written_at longest_lease
--                                     at -inf: the weight that counts; before when no lease ends (0 when there is none), how
--                                     many reservations there are, the last fencing token, until when the set is kept,
--                                     when old calls were taken out of it, when this was written, how long the longest lease is.
--                                     (At most 64 bytes, which the server keeps in compact form.)
--   'r' id weight                     at minus the end of the lease; 's' in place of 'r': of a rule in shadow that had no
--                                     room, which does not count
--   'p' id                            at the price of a unit, where the call brought a limit of its own
--   'e' id                            at MARKS less the time until which, in milliseconds: a call that ended or renewed a
--                                     reservation, in case it is sent again; 'f' in place of 'e': it had ended for one of
--                                     the holders
-- A small set is searched from its start for the place of what is new: so the latest stand before the earlier ones. Scores
-- are whole (but for prices), and small enough for the server to keep them as integers.
--
-- All windows that a rule has had share the set. So there is no copy of the header, which a call under another window
-- could not find to change it.
--
-- ARGV[1]  now, op, limits (how many); then the numbers of ARGV[2] once more
-- ARGV[1 + i], for the limit of KEYS[i]: its algorithm's place, its group, its holder's number (0: none), price (what a
--          unit takes in the algorithm's measure), units (the cost), extra (what is charged; or the time of a charge
--          that is given back), kind (1: its measure is time; 2: its window begins with a charge; 3: it keeps an entry per
--          unit in a list, 4: in a sorted set; 0: others; -1: it keeps nothing); then its own numbers
-- ARGV[1 + limits + i]  the same at the limit that the rule states, if the call brought another; else empty
-- ARGV[1 + 2 * limits + j], for the holder of KEYS[limits + j]: weight, lease, longest (how long a charge counts), group,
--          price (0: the rule's own), timeout; then the member 'r' id weight of the reservation, and the id of the call
-- A call about one limit may come as ARGV[1] alone: the first, that of the limit, and in the last 89 bytes that of the
-- holder.
local MARKS, MOST_HELD, PARAMS = 4e15, 10000, 57
local RESERVATION_ID, CALL_ID, HEADER, HOLDER = 50, 74, 61, 89
local CHECK, PEEK, REFUND, CHARGE, RESERVE, COMMIT, BESIDE = 1, 2, 3, 4, 5, 6, -2
-- As in the other scripts: 1 charge, 0 only look.
local mode = op == PEEK and 0 or 1
-- Of leases that have ended one call charges so many, to all limits together, and those after so many entries of logs
-- no more. Where more have ended it answers UNSETTLED, having decided nothing: the caller asks again. (So that no call holds
-- the server for long.)
-- Of leases that a step of the clock back has made too long one call heals so many, and answers likewise.
local MOST_SETTLED, MOST_ENTRIES, MOST_HEALED, UNSETTLED = 250, 1000, 2500, -2
-- A look charges so many, and no more entries of logs than above, to copies of the states, and leaves these as they are.
-- Where more have ended it writes what it charged, as every look would have to do it anew.
local MOST_COPIED = 100
-- After a step of the clock back, for a look: when the last lease of a key ends at the latest.
local latest_ends = nil
