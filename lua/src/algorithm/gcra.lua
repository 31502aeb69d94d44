-- GCRA: a debt of time that leaks one microsecond per microsecond. It is kept relative to its own
-- time, because an absolute time in a double is too coarse for rates above a million per second.
--
-- Numbers: cost (microseconds of debt it adds), full (debt at which the burst is used up)
-- State: debt, at. Reply: debt as of now
local function load(key, arg)
  local cost, full = unpack_numbers('<dd', arg, PARAMS)
  local state = call('GET', key)
  if not state then return cost, full, nil, 0 end
  if #state ~= 16 then return nil end
  local debt, at = unpack_numbers('<dd', state)
  if not (debt > 0 and debt < 1e17) then return nil end
  if at > now then return cost, full - debt, 0, debt end
  debt = debt - (now - at)
  if debt < 0 then debt = 0 end
  return cost, full - debt, nil, debt
end

local function commit(key, amount, debt)
  debt = debt + amount
  call('SET', key, pack('<dd', debt, now), 'PX', ttl(debt))
end

local function reply(grant, _, debt)
  return pack('<ddd', grant, now, debt)
end
