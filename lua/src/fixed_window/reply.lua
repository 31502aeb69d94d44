-- Answers with the grant, now, and start and count as loaded.
local answer = pack('<dddd', grant, now, start, count)
