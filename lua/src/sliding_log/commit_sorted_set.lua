-- Adds AMOUNT members of now, after those that are gone went.
if live < length then call('ZREMRANGEBYRANK', key, '0', length - live - 1) end
if amount == 1 and newest ~= now then
  call('ZADD', key, now, pack('>dI4', now, 0))
else
  local helpers = set_helpers(key, now)
  if newest == now then helpers.heal() end
  helpers.add(amount)
end
