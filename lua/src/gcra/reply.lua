-- Answers with the grant, now, the debt as loaded, and its interval.
local answer = pack('<dddd', grant, now, debt, interval)
