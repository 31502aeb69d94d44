if debt > amount then commit(key, -amount, debt) else call('DEL', key) end
