local function refund(key, amount, stored, kept, level, resolution, slots_per_e)
  if level - amount > NOTHING then
    commit(key, -amount, stored, kept, level, resolution, slots_per_e)
  else
    call('DEL', key)
  end
end
