local function refund(key, amount, start, count, window)
  if count > amount then commit(key, -amount, start, count, window) else call('DEL', key) end
end
