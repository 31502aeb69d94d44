-- Spends from the allotment, or says who decides: a denial that still holds, or the region in charge. Says also how much
-- to borrow, and takes note that it is asked for. What was not spent in time is answered, to be given back.
--
-- Numbers: cost, most (that fits at once), age (how long a loan lasts), useful (how long a charge counts), span (over which the rate is taken),
-- trip (to the region in charge and back), pace (between two requests for a loan)
-- Reply: verdict, now, left, wait, fresh (the time until the key is as if never seen), want; then for each loan that has
-- ended: units, granted_at
local SPENT, DENIED, ELSEWHERE = 1, 0, 2
-- A region borrows what its callers ask for in so many trips, and in this time.
local TRIPS, AHEAD = 4, 50000
-- A rate at which fewer units are spent before a loan ends is none to lend for; nor is a loan that ends in fewer trips.
local LEAST_SPENT = 10
local passed = math.floor((now - begun) / quarter)
begun = begun + passed * quarter
for _ = 1, math.min(passed, QUARTERS + 1) do
  count, first, second, third, fourth = 0, count, first, second, third
end
-- A cost that can never fit says nothing of what is needed.
count = count + math.min(cost, most)
local rate = (count + first + second + third + fourth * (1 - (now - begun) / quarter)) / span

local left, valid, ended = 0, {}, {}
for at = 1, #loans, 3 do
  local units, valid_until, granted_at = loans[at], loans[at + 1], loans[at + 2]
  if valid_until > now then
    left = left + units
    valid[#valid + 1], valid[#valid + 2], valid[#valid + 3] = units, valid_until, granted_at
  else
    ended[#ended + 1], ended[#ended + 2] = units, granted_at
  end
end

local lends = rate * age >= LEAST_SPENT and age >= TRIPS * trip
-- A contended limit is shared in small portions. What is larger than one of them, the region in charge decides.
local is_contended = lends and now < contended_until and cost <= rate * pace
local is_denied = now < denied_until and cost >= denied_cost
local verdict = ELSEWHERE
if left >= cost then
  verdict, left = SPENT, left - cost
elseif is_contended or is_denied then
  verdict = DENIED
end
-- The loans that end first are spent first.
loans = {}
local due = verdict == SPENT and cost or 0
for at = 1, #valid, 3 do
  local taken = math.min(valid[at], due)
  due = due - taken
  if valid[at] > taken then
    loans[#loans + 1], loans[#loans + 2], loans[#loans + 3] = valid[at] - taken, valid[at + 1], valid[at + 2]
  end
end

local want = 0
local is_low = left < rate * (trip + pace) * 1.5
-- What was denied to a single unit is not lent.
local may_ask = now >= denied_until or denied_cost > 1
if lends and is_low and may_ask and now >= asked_at + pace then
  want = math.max(math.floor(rate * (now < contended_until and pace or math.min(age, TRIPS * trip + AHEAD))), 1)
  asked_at = now
end
local wait = 0
if verdict == DENIED then
  wait = math.max(is_denied and math.max(fits_at, denied_until) or asked_at + pace, now + 1) - now
end
local answer = pack('<dddddd', verdict, now, left, wait, math.max(fresh_at - now, 0), want)
for at = 1, #ended, 2 do answer = answer .. pack('<dd', ended[at], ended[at + 1]) end
