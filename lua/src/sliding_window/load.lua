-- Sliding window: the former window's count, weighted by how much of it is still in view, plus the
-- current one's.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the current window, previous count, current count. Reply: the same three
local offset = now % window
local start, previous, current, forced, running = now - offset, 0, 0, nil, false
local state = call('GET', key)
if state then
  if #state ~= 24 then return { err = BAD_STATE } end
  local stored
  stored, previous, current = unpack_numbers('<ddd', state)
  if not (stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if not (previous >= 0 and current >= 0 and previous + current < ENDLESS) then return { err = BAD_STATE } end
  if stored == start then
    running = current > 0
  elseif stored > start then
    forced = 0
  elseif stored + window == start then
    previous, current = current, 0
  else
    previous, current = 0, 0
  end
end
-- Multiplied before it is divided: exact as long as count times window stays below 2^53.
-- Costs are whole, so its fraction need not be cut off.
local capacity = limit - (previous * (window - offset) / window + current)
if count_denied == 1 and capacity < cost then forced = cost end
