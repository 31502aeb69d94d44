-- Answers with the grant, now, how many entries live, and the times of the newest and of the pivot.
local answer = pack('<ddddd', grant, now, live, newest, pivot)
