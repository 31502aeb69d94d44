-- Spends what `decide.lua` found, unless another limit of the call refuses (IS_REFUSED). Says also how much to borrow, and
-- takes note that it is asked for. What was not spent in time is answered, to be given back.
--
-- Reply: verdict, now, left, wait, fresh (the time until the key is as if never seen), want; then for each loan that has
-- ended: units, granted_at
-- A call that is refused says nothing of what is needed. What the region in charge has charged is not spent here.
local due = 0
if is_refused then
  count = count - demand
elseif verdict == SPENT and there == 0 then
  due = cost
end
left = left - due
-- The loans that end first are spent first.
loans = {}
local rest = due
for at = 1, #valid, 3 do
  local taken = math.min(valid[at], rest)
  rest = rest - taken
  if valid[at] > taken then
    loans[#loans + 1], loans[#loans + 2], loans[#loans + 3] = valid[at] - taken, valid[at + 1], valid[at + 2]
  end
end

local want = 0
local is_low = left < rate * (trip + pace) * 1.5
-- What was denied to a single unit is not lent. A call about which the region in charge was asked has borrowed.
local may_ask = (now >= denied_until or denied_cost > 1) and there == 0 and not is_refused
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
