if live <= amount then
  call('DEL', key)
  return
end
local helpers = set_helpers(key)
if live < length then call('ZREMRANGEBYRANK', key, '0', length - live - 1) end
if newest == now then helpers.heal() end
call('ZREMRANGEBYRANK', key, -amount, '-1')
local latest = helpers.at(-1)
