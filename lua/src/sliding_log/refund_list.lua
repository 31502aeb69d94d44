-- Takes the newest AMOUNT entries out of the list. Of a charge made at CHARGED_AT: entries of that time.
-- Says `latest`: the time of the newest entry left.
if live == 0 then
  call('DEL', key)
  return
end
if live < length then call('LTRIM', key, '0', live - 1) end
if newest == now then list_helpers(key, now).heal(live) end
if charged_at then
  call('LREM', key, amount, pack('<d', charged_at))
else
  call('LTRIM', key, amount, '-1')
end
local head = call('LINDEX', key, '0')
if not head then return end
local latest = unpack_numbers('<d', head)
