-- Takes AMOUNT from the slots, the newest first. Of a charge made at CHARGED_AT: from the slot of that time.
local others = (first and call('GETRANGE', key, first, '-1') or '') .. (tail or '')
local charged_in = charged_at and math.floor(charged_at / resolution)
if not charged_in or charged_in == slot then
  local taken = amount < current and amount or current
  current, amount = current - taken, amount - taken
end
local position = #others - 15
while amount > 0 and position > 0 do
  local pair_slot, count = unpack_numbers('<dd', others, position)
  if not charged_in or charged_in == pair_slot then
    local taken = amount < count and amount or count
    amount, past, count = amount - taken, past - taken, count - taken
    local rest = count > 0 and pack('<dd', pair_slot, count) or ''
    others = string.sub(others, 1, position - 1) .. rest .. string.sub(others, position + 16)
  end
  position = position - 16
end
if past + current > 0 then
  commit(key, 0, slot, current, past, nil, others, newest, pivot, resolution, window)
else
  call('DEL', key)
end
