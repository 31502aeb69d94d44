-- Fixed window of the calendar: the caller names windows by their number and by when they begin and end, since it
-- knows time zones and this script does not. By the caller's clock it is window NUMBER, from OPENING to before
-- CLOSING; the one before begins at FORMER, and the next ends at LATER. The server's clock chooses among the three. When
-- it is in none of them, the answer is -1 and the server's time: nothing is charged, and the caller asks once more.
--
-- Numbers: cost, limit, count_denied (0 or 1), number, former, opening, closing, later
-- State: number of the window, count. Reply: the same
if now < former or now >= later then return pack('<dd', -1, now) end
local window, start, ending, count, forced, running = number, opening, closing, 0, nil, false
if now < opening then
  window, start, ending = number - 1, former, opening
elseif now >= closing then
  window, start, ending = number + 1, closing, later
end
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  local stored
  stored, count = unpack_numbers('<dd', state)
  if not (count > 0 and count < ENDLESS and stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  running = stored == window
  if stored < window then count = 0 elseif stored > window then forced = 0 end
end
local capacity = limit - count
if count_denied == 1 and capacity < cost then forced = cost end
