-- Takes the newest AMOUNT members out of the set. Of a charge made at CHARGED_AT: members of that time.
-- Says `latest`: the time of the newest member left.
if live < length then call('ZREMRANGEBYRANK', key, '0', length - live - 1) end
if newest == now then set_helpers(key, now).heal() end
local rank, taken = live, live
if charged_at then
  rank = call('ZCOUNT', key, '-inf', charged_at)
  taken = call('ZCOUNT', key, charged_at, charged_at)
end
if amount < taken then taken = amount end
if taken > 0 then call('ZREMRANGEBYRANK', key, rank - taken, rank - 1) end
local newest_left = call('ZRANGE', key, '-1', '-1')[1]
if not newest_left then return end
local latest = unpack_numbers('>d', newest_left)
