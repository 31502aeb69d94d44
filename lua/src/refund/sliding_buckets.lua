local function refund(key, amount, slot, current, past, pairs_text, empty_at)
  local taken = amount < current and amount or current
  current, amount = current - taken, amount - taken
  while amount > 0 and pairs_text ~= '' do
    local rest = string.sub(pairs_text, 1, -PAIR - 1)
    local pair_slot, count = unpack_numbers('<dd', pairs_text, #rest + 1)
    taken = amount < count and amount or count
    amount, past, count = amount - taken, past - taken, count - taken
    if count > 0 then rest = rest .. pack('<dd', pair_slot, count) end
    pairs_text = rest
  end
  if past + current > 0 then
    commit(key, 0, slot, current, past, pairs_text, empty_at)
  else
    call('DEL', key)
  end
end
