-- Answers with the grant, now, and the debt as loaded.
local answer = pack('<ddd', grant, now, debt)
