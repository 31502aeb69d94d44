-- Admits further callers, up to UNITS, each after the charge of the one before. A debt at another interval is rescaled
-- by the first charge: what follows takes up the state anew.
while callers < units and interval == unit do
  local owed = debt + cost
  if full - owed < cost then break end
  debt, callers = owed, callers + 1
end
