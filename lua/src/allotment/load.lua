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
