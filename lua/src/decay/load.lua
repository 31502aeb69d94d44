-- Decay: a level that every slot which passes divides by a factor; an AR(1) filter.
--
-- Numbers: cost, limit, resolution (microseconds per slot), factor, slots_per_e (slots in which the
-- level falls by the factor e; only for the lifetime of the key), count_denied (0 or 1)
-- State: slot, level. Reply: the state as stored, so that what follows from it is exact
local slot, forced = (now - now % resolution) / resolution, nil
local stored, level, kept = slot, 0, 0
local state = call('GET', key)
if state then
  if #state ~= 16 then return { err = BAD_STATE } end
  stored, kept = unpack_numbers('<dd', state)
  if not (stored >= 0 and stored <= LATEST and kept > 0 and kept < ENDLESS) then return { err = BAD_STATE } end
  if stored > slot then stored, forced = slot, 0 end
  level = kept
  if stored < slot then
    -- Repeated squaring, and not `^`: the C library's pow may round differently on another machine.
    local power, base, exponent = 1, factor, slot - stored
    while exponent > 0 do
      if exponent % 2 == 1 then power = power * base end
      base, exponent = base * base, math.floor(exponent / 2)
    end
    level = level / power
    -- A level this small is none.
    if level <= 1e-9 then stored, level, kept = slot, 0, 0 end
  end
end
-- Costs are whole, so its fraction need not be cut off.
local capacity = limit - level
if count_denied == 1 and capacity < cost then forced = cost end
