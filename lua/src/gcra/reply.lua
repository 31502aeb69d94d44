-- Answers with the grant, now, the debt as loaded, and its interval where that is not the unit.
local answer = interval == unit and pack('<ddd', grant, now, debt) or pack('<dddd', grant, now, debt, interval)
