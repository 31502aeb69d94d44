-- Answers with the grant, now, and the two ends of leases.
local answer = pack('<dddd', grant, now, enough_at, last_at)
