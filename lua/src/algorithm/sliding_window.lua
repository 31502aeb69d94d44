-- Sliding window: the former window's count, weighted by how much of it is still in view, plus the
-- current one's.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the current window, previous count, current count. Reply: the same three
local function load(key, arg)
  local cost, limit, window, count_denied = unpack_numbers('<dddd', arg, PARAMS)
  local offset = now % window
  local start, previous, current, forced = now - offset, 0, 0, nil
  local state = call('GET', key)
  if state then
    if #state ~= 24 then return nil end
    local stored
    stored, previous, current = unpack_numbers('<ddd', state)
    if not (stored >= 0 and previous >= 0 and current >= 0) then return nil end
    if stored > start then
      forced = 0
    elseif stored < start then
      if stored + window == start then previous, current = current, 0 else previous, current = 0, 0 end
    end
  end
  -- Multiplied before it is divided: exact as long as count times window stays below 2^53.
  local estimate = previous * (window - offset) / window + current
  local capacity = floor(limit - estimate)
  if count_denied == 1 and capacity < cost then forced = cost end
  return cost, capacity, forced, start, previous, current, window
end

local function commit(key, amount, start, previous, current, window)
  current = current + amount
  local left = start + window - now
  if current > 0 then left = left + window end
  call('SET', key, pack('<ddd', start, previous, current), 'PX', ttl(left))
end

local function reply(grant, _, start, previous, current)
  return pack('<ddddd', grant, now, start, previous, current)
end
