-- Fixed window that opens at the first counted check.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the window, count. Reply: start, count
local function load(key, arg)
  local cost, limit, window, count_denied = unpack_numbers('<dddd', arg, PARAMS)
  local start, count, forced = now, 0, nil
  local state = call('GET', key)
  if state then
    if #state ~= 16 then return nil end
    local stored, stored_count = unpack_numbers('<dd', state)
    if not (stored_count > 0 and stored >= 0) then return nil end
    if stored > now then
      count, forced = stored_count, 0
    elseif now - stored < window then
      start, count = stored, stored_count
    end
  end
  if count_denied == 1 and limit - count < cost then forced = cost end
  return cost, limit - count, forced, start, count, window
end
