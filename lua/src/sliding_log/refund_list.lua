if live <= amount then
  call('DEL', key)
  return
end
local helpers = list_helpers(key)
if live < length then call('LTRIM', key, '0', live - 1) end
if newest == now then helpers.heal(live) end
call('LTRIM', key, amount, '-1')
local latest = helpers.at(0)
