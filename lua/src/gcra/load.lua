-- GCRA: a debt of time that leaks one microsecond per microsecond. It is kept relative to its own
-- time, because an absolute time in a double is too coarse for rates above a million per second.
--
-- Numbers: cost (microseconds of debt it adds), full (debt at which the burst is used up)
-- State: debt, at. Reply: debt as of now
local state, debt, forced = call('GET', key), 0, nil
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  local at
  debt, at = unpack_numbers('<dd', state)
  if not (debt > 0 and debt < ENDLESS and at >= 0 and at <= LATEST) then return { err = BAD_STATE } end
  if at > now then
    forced = 0
  else
    debt = debt - (now - at)
    if debt < 0 then debt = 0 end
  end
end
local capacity = full - debt
