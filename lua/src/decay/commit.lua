-- Writes slot and level, AMOUNT added. The key lives until the level is none.
local risen = level + amount
local slots = math.ceil(math.log(risen / 1e-9) * slots_per_e) + 1
call('SET', key, pack('<dd', slot, risen), 'PX', math.ceil(((slot + slots) * resolution - now) / 1000) + slack)
