-- Takes AMOUNT off the level. Of a charge made at CHARGED_AT: what the slots passed since made of it.
if charged_at then
  -- `^` may do here: nobody else has to come to the same last bit.
  amount = amount / factor ^ (slot - math.floor(charged_at / resolution))
end
if level - amount > 1e-9 then
  commit(key, -amount, slot, stored, kept, level, resolution, factor, slots_per_e)
else
  call('DEL', key)
end
