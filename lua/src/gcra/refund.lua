-- Takes AMOUNT off the debt. Of a charge made at CHARGED_AT: less what may have leaked since, by whichever
-- interval is the shorter.
if charged_at then
  local leaked = now - charged_at
  if interval < unit then leaked = leaked * (unit / interval) end
  amount = amount - leaked
  if amount < 0 then amount = 0 end
end
if interval ~= unit then amount = amount / unit * interval end
if debt > amount then commit(key, -amount, debt, kept, at, interval, unit) else call('DEL', key) end
