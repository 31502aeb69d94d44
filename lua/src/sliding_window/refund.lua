-- Takes AMOUNT from the current count, then from the previous one. Of a charge made at CHARGED_AT: from the
-- count of the window in which that was, if it is still there.
local from_current, from_previous = amount < current and amount or current, 0
if not charged_at then
  from_previous = amount - from_current
elseif charged_at < start then
  from_current, from_previous = 0, charged_at < start - window and 0 or amount
end
previous = from_previous < previous and previous - from_previous or 0
if previous + current > from_current then
  -- A count that is running is all that a commit writes.
  commit(key, -from_current, start, previous, current, window, running and from_previous == 0)
else
  call('DEL', key)
end
