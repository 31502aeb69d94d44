if amount > current then
  previous, amount = previous - (amount - current), current
  if previous < 0 then previous = 0 end
end
if previous + current > amount then
  commit(key, -amount, start, previous, current, window, running)
else
  call('DEL', key)
end
