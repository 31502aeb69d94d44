-- Fixed window, aligned: windows begin at multiples of their length.
--
-- Numbers: cost, limit, window, count_denied (0 or 1)
-- State: start of the window, count. Reply: start, count
local function load(key, arg)
  local cost, limit, window, count_denied = unpack_numbers('<dddd', arg, PARAMS)
  local start, count, forced = now - now % window, 0, nil
  local state = call('GET', key)
  if state then
    if #state ~= 16 then return nil end
    local stored
    stored, count = unpack_numbers('<dd', state)
    if not (count > 0 and stored >= 0) then return nil end
    if stored < start then count = 0 elseif stored > start then forced = 0 end
  end
  if count_denied == 1 and limit - count < cost then forced = cost end
  return cost, limit - count, forced, start, count, window
end
