local function refund(key, amount, live, length, _, newest, window)
  if live <= amount then
    call('DEL', key)
  else
    if live < length then call('ZREMRANGEBYRANK', key, '0', length - live - 1) end
    if newest == now then heal(key) end
    call('ZREMRANGEBYRANK', key, -amount, '-1')
    call('PEXPIRE', key, ttl(window))
  end
end
