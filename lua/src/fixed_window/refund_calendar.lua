-- Takes AMOUNT back from the count. Of a charge made at CHARGED_AT: not from a window that began later.
if charged_at and charged_at < start then amount = 0 end
if count > amount then commit(key, -amount, window, start, ending, count, running) else call('DEL', key) end
