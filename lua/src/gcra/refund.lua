-- Takes AMOUNT off the debt. Of a charge made at CHARGED_AT: less what may have leaked since.
if charged_at then
  amount = amount - (now - charged_at)
  if amount < 0 then amount = 0 end
end
if debt > amount then commit(key, -amount, debt, kept, at) else call('DEL', key) end
