local owed = debt + amount
call('SET', key, pack('<dd', owed, now), 'PX', ceil(owed / 1000) + slack)
