-- Answers with the grant, now, and start and both counts as loaded.
local answer = pack('<ddddd', grant, now, start, previous, current)
