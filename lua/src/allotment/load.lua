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
  local counts, times = { count, first, second, third, fourth, denied_cost }, { begun, denied_until, contended_until, fits_at, fresh_at, ends }
  for _, it in ipairs(counts) do if not (it >= 0 and it < ENDLESS) then return { err = BAD_STATE } end end
  for _, it in ipairs(times) do if not (it >= 0 and it <= LATEST) then return { err = BAD_STATE } end end
  if not (asked_at >= -LATEST and asked_at <= LATEST) then return { err = BAD_STATE } end
  for at = HEADER + 1, #state, LOAN do
    local units, valid_until, granted_at = unpack_numbers('<ddd', state, at)
    if not (units > 0 and units <= LATEST and valid_until >= 0 and granted_at >= 0 and granted_at <= LATEST) then
      return { err = BAD_STATE }
    end
    loans[#loans + 1], loans[#loans + 2], loans[#loans + 3] = units, math.min(valid_until, now + age), granted_at
  end
end
-- After a step of the clock back nothing lasts longer than it may.
denied_until = math.min(denied_until, now + age)
if begun > now then
  begun, count, first, second, third, fourth = now, 0, 0, 0, 0, 0
  asked_at, contended_until, fits_at, fresh_at, ends = -LATEST, 0, 0, 0, 0
end
