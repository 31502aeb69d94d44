others = others or bucket_helpers(key).others()
local taken = amount < current and amount or current
current, amount = current - taken, amount - taken
while amount > 0 and others ~= '' do
  local rest = string.sub(others, 1, -17)
  local pair_slot, count = unpack_numbers('<dd', others, #rest + 1)
  taken = amount < count and amount or count
  amount, past, count = amount - taken, past - taken, count - taken
  if count > 0 then rest = rest .. pack('<dd', pair_slot, count) end
  others = rest
end
if past + current > 0 then
  commit(key, 0, slot, current, past, others, newest, pivot, resolution, window)
else
  call('DEL', key)
end
