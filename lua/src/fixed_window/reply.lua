-- Answers with the grant, now, and start and count as loaded.
return pack('<dddd', grant, now, start, count)
