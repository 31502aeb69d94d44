local function refund(key, amount, live, length, _, newest, window)
  if live <= amount then
    call('DEL', key)
  else
    if live < length then call('LTRIM', key, 0, live - 1) end
    if newest == now then heal(key, live) end
    call('LTRIM', key, amount, -1)
    call('PEXPIRE', key, ttl(window))
  end
end
