-- GCRA: a debt of time that leaks one microsecond per microsecond. It is kept relative to its own
-- time, because an absolute time in a double is too coarse for rates above a million per second.
--
-- Numbers: cost (microseconds of debt it adds), full (debt at which the burst is used up)
-- State: debt, at. Reply: debt as of now
local debt, forced = 0, nil
-- The debt as stored, and its time.
local kept, at = 0, 0
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  kept, at = unpack_numbers('<dd', state)
  if not (kept > 0 and kept < ENDLESS and at >= 0 and at <= LATEST) then return { err = BAD_STATE } end
  debt = kept
  if at > now then
    forced = 0
  else
    debt = debt - (now - at)
    if debt < 0 then debt = 0 end
  end
end
local capacity = full - debt
