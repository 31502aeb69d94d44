-- Answers with the grant, now, the head as loaded, and the slots that `load` looked up for the waits.
return pack('<ddddddd', grant, now, slot, current, past, newest, pivot)
