if count > amount then commit(key, -amount, start, count, window, running) else call('DEL', key) end
