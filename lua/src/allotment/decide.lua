-- Decides who decides of a call: the allotment, a denial that still holds, or the region in charge, which is then asked.
--
-- Numbers: cost, demand (what the call says of what is needed), age (how long a loan lasts), useful (how long a charge
-- counts), span (over which the rate is taken), trip (to the region in charge and back), pace (between two requests for a
-- loan). THERE says what the region in charge has made of this call already: 1 it has charged it, -1 it has denied it, 0
-- it was not asked.
local SPENT, DENIED, ELSEWHERE = 1, 0, 2
-- A region borrows what its callers ask for in so many trips, and in this time.
local TRIPS, AHEAD = 4, 50000
-- A rate at which fewer units are spent before a loan ends is none to lend for; nor is a loan that ends in fewer trips.
local LEAST_SPENT = 10
if now - begun >= quarter then
  local passed = math.floor((now - begun) / quarter)
  begun = begun + passed * quarter
  for _ = 1, math.min(passed, QUARTERS + 1) do
    count, first, second, third, fourth = 0, count, first, second, third
  end
end
count = count + demand
local rate = (count + first + second + third + fourth * (1 - (now - begun) / quarter)) / span

local left = 0
for at = 1, #loans, 3 do
  if loans[at + 1] > now then left = left + loans[at] end
end

local lends = rate * age >= LEAST_SPENT and age >= TRIPS * trip
-- A contended limit is shared in small portions. What is larger than one of them, the region in charge decides.
local is_contended = lends and now < contended_until and cost <= rate * pace
local is_denied = now < denied_until and cost >= denied_cost
local verdict = ELSEWHERE
if there > 0 or there == 0 and left >= cost then
  verdict = SPENT
elseif there < 0 or is_contended or is_denied then
  verdict = DENIED
end
