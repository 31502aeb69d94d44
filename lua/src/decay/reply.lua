return pack('<dddd', grant, now, stored, kept)
