-- Writes the debt, AMOUNT added, as of now. The key lives until it has leaked away.
local owed = debt + amount
call('SET', key, pack('<dd', owed, now), 'PX', math.ceil(owed / 1000) + slack)
