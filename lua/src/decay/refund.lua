if level - amount > 1e-9 then
  commit(key, -amount, slot, stored, kept, level, resolution, slots_per_e)
else
  call('DEL', key)
end
