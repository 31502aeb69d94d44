return pack('<ddddd', grant, now, start, previous, current)
