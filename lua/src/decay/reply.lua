-- Answers with the grant, now, and slot and level as stored.
local answer = pack('<dddd', grant, now, stored, kept)
