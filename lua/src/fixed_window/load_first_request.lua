-- Fixed window that opens at the first counted check.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the window, count. Reply: start, count
local start, count, forced, running = now, 0, nil, false
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  local stored
  stored, count = unpack_numbers('<dd', state)
  if not (count > 0 and count < ENDLESS and stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if stored > now then
    forced = 0
  elseif now - stored < window then
    start, running = stored, true
  else
    count = 0
  end
end
local capacity = limit - count
if count_denied == 1 and capacity < cost then forced = cost end
