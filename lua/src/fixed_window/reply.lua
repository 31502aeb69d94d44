return pack('<dddd', grant, now, start, count)
