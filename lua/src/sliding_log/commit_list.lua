-- Pushes AMOUNT entries of now, after those that are gone went.
if live == 0 then
  if length > 0 then call('DEL', key) end
else
  if live == length - 1 then
    call('RPOP', key)
  elseif live < length then
    call('LTRIM', key, '0', live - 1)
  end
  if newest == now then list_helpers(key, now).heal(live) end
end
if amount == 1 then call('LPUSH', key, pack('<d', now)) else list_helpers(key, now).push(amount) end
