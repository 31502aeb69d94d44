-- Answers with the grant, now, the head as loaded, and the slots that `load` looked up for the waits.
local answer = pack('<ddddddd', grant, now, slot, current, past, newest, pivot)
