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

local now, age, useful, span, granted, granted_at, valid_until, new_denied_until, new_denied_cost, new_contended_until, new_fits_at, new_fresh_at = unpack_numbers('<dddddddddddd', ARGV[1])
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
-- An allotment: what the region in charge of a key has lent to this one, and what it last said of the key.
--
-- State: begun and five counts (how many units were asked for since BEGUN, and in each quarter of a span before that),
-- asked_at, denied_until and denied_cost (the region in charge denied that cost), contended_until (it lent less than it was
-- asked for), fits_at (when it expects room again), fresh_at (when the key will be as if never seen), ends (when the server
-- forgets all this). Then for each loan: units, valid_until, granted_at. GRANTED_AT is by the clock of the region in
-- charge, all else by that of this server.
local HEADER, LOAN, MOST_LOANS, QUARTERS = 104, 24, 16, 4
local quarter = span / QUARTERS
local begun, count, first, second, third, fourth = now, 0, 0, 0, 0, 0
local asked_at, denied_until, denied_cost, contended_until, fits_at, fresh_at, ends = -LATEST, 0, 0, 0, 0, 0, 0
local loans = {}
local state = call('GET', key)
if state then
  if #state < HEADER or (#state - HEADER) % LOAN > 0 or #state > HEADER + LOAN * MOST_LOANS then
    return { err = BAD_STATE }
  end
  begun, count, first, second, third, fourth, asked_at, denied_until, denied_cost, contended_until, fits_at, fresh_at, ends =
    unpack_numbers('<ddddddddddddd', state)
  local are_counts = count >= 0 and count < ENDLESS and first >= 0 and first < ENDLESS and second >= 0 and second < ENDLESS
    and third >= 0 and third < ENDLESS and fourth >= 0 and fourth < ENDLESS and denied_cost >= 0 and denied_cost < ENDLESS
  local are_times = begun >= 0 and begun <= LATEST and asked_at >= -LATEST and asked_at <= LATEST and denied_until >= 0
    and denied_until <= LATEST and contended_until >= 0 and contended_until <= LATEST and fits_at >= 0 and fits_at <= LATEST
    and fresh_at >= 0 and fresh_at <= LATEST and ends >= 0 and ends <= LATEST
  if not (are_counts and are_times) then return { err = BAD_STATE } end
  local last = now + age
  for at = 1, (#state - HEADER) / 8, 3 do
    local units, valid_until, granted_at = unpack_numbers('<ddd', state, HEADER + 8 * at - 7)
    if not (units > 0 and units <= LATEST and valid_until >= 0 and granted_at >= 0 and granted_at <= LATEST) then
      return { err = BAD_STATE }
    end
    if valid_until > last then valid_until = last end
    loans[at], loans[at + 1], loans[at + 2] = units, valid_until, granted_at
  end
end
-- After a step of the clock back nothing lasts longer than it may.
if denied_until > now + age then denied_until = now + age end
if begun > now then
  begun, count, first, second, third, fourth = now, 0, 0, 0, 0, 0
  asked_at, contended_until, fits_at, fresh_at, ends = -LATEST, 0, 0, 0, 0
end
-- Keeps what the region in charge has lent, and what it said. A loan that comes too late is not kept: the reply is how many
-- units are to be given back.
--
-- Numbers: age, useful, span, granted, granted_at, valid_until, denied_until, denied_cost, contended_until, fits_at,
-- fresh_at: what the same names of the state are to be; 0 where it denied nothing, or lent what it was asked for
local dropped, last = 0, #loans - 2
if granted > 0 and valid_until <= now then
  dropped = granted
elseif granted > 0 and last > 0
  and (#loans >= 3 * MOST_LOANS or math.abs(loans[last + 1] - valid_until) < age / 8) then
  -- Loans of about one time are one: it ends with the first of them.
  loans[last] = loans[last] + granted
  loans[last + 1] = math.min(loans[last + 1], valid_until)
  loans[last + 2] = math.min(loans[last + 2], granted_at)
elseif granted > 0 then
  loans[last + 3], loans[last + 4], loans[last + 5] = granted, valid_until, granted_at
end
if new_denied_until > 0 then denied_until, denied_cost, fits_at = new_denied_until, new_denied_cost, new_fits_at end
if new_contended_until > contended_until then contended_until = new_contended_until end
fresh_at = new_fresh_at
local answer = pack('<d', dropped)
-- Writes the allotment. The server forgets it when nothing of it matters any more; to write that anew with every call
-- would take longer than all else.
local lent = ''
for at = 1, #loans, 3 do
  if loans[at] > 0 then lent = lent .. pack('<ddd', loans[at], loans[at + 1], loans[at + 2]) end
end
local keep = 2 * span
if denied_until - now > keep then keep = denied_until - now end
if contended_until - now > keep then keep = contended_until - now end
if lent ~= '' and age + useful > keep then keep = age + useful end
local lasts = ends - now
local is_lasting = lasts > keep / 2 and lasts <= 2 * keep
if not is_lasting then ends = now + keep end
local written = pack('<ddddddddddddd', begun, count, first, second, third, fourth, asked_at, denied_until, denied_cost,
  contended_until, fits_at, fresh_at, ends) .. lent
if is_lasting and state and #written == #state then
  call('SETRANGE', key, '0', written)
else
  call('SET', key, written, 'PX', math.ceil((ends - now) / 1000) + slack)
end
return answer
