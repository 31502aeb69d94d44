-- Decay: a level that every slot which passes divides by a factor; an AR(1) filter.
--
-- Numbers: cost, limit, resolution (microseconds per slot), factor, slots_per_e (slots in which the
-- level falls by the factor e; only for the lifetime of the key), count_denied (0 or 1)
-- State: slot, level. Reply: the state as stored, so that what follows from it is exact
local NOTHING = 1e-9

-- Repeated squaring, and not `^`: the C library's pow may round differently on another machine.
local function power(base, exponent)
  local result = 1
  while exponent > 0 do
    if exponent % 2 == 1 then result = result * base end
    base, exponent = base * base, floor(exponent / 2)
  end
  return result
end

local function load(key, arg)
  local cost, limit, resolution, factor, slots_per_e, count_denied = unpack_numbers('<dddddd', arg, PARAMS)
  local slot, forced = floor(now / resolution), nil
  local stored, level, kept = slot, 0, 0
  local state = call('GET', key)
  if state then
    if #state ~= 16 then return nil end
    stored, kept = unpack_numbers('<dd', state)
    if not (stored >= 0 and kept > 0 and kept < 1e300) then return nil end
    if stored > slot then stored, forced = slot, 0 end
    level = kept
    if stored < slot then
      level = level / power(factor, slot - stored)
      if level <= NOTHING then stored, level, kept = slot, 0, 0 end
    end
  end
  local capacity = floor(limit - level)
  if count_denied == 1 and capacity < cost then forced = cost end
  return cost, capacity, forced, stored, kept, level, resolution, slots_per_e
end

local function commit(key, amount, _, _, level, resolution, slots_per_e)
  level = level + amount
  local slot = floor(now / resolution)
  local slots = ceil(math.log(level / NOTHING) * slots_per_e) + 1
  call('SET', key, pack('<dd', slot, level), 'PX', ttl((slot + slots) * resolution - now))
end

local function reply(grant, _, stored, kept)
  return pack('<dddd', grant, now, stored, kept)
end
