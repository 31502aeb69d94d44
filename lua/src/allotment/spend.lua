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
local ended, rest = '', due
for at = 1, #loans, 3 do
  local units, valid_until, granted_at = loans[at], loans[at + 1], loans[at + 2]
  if valid_until <= now then
    ended = ended .. pack('<dd', units, granted_at)
    loans[at] = 0
  elseif rest > 0 then
    local taken = units < rest and units or rest
    loans[at], rest = units - taken, rest - taken
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
local fresh = fresh_at > now and fresh_at - now or 0
local answer = pack('<dddddd', verdict, now, left, wait, fresh, want) .. ended
