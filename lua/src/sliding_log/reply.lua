return pack('<ddddd', grant, now, live, newest, pivot)
