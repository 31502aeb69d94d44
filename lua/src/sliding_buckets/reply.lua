return pack('<ddddddd', grant, now, slot, current, past, newest, pivot)
