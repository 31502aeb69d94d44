-- Answers with the grant, now, and start and both counts as loaded.
return pack('<ddddd', grant, now, start, previous, current)
