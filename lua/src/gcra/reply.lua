return pack('<ddd', grant, now, debt)
