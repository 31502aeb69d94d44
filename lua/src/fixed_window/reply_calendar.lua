-- Answers with the grant, now, and the number of the window and the count as loaded.
local answer = pack('<dddd', grant, now, window, count)
