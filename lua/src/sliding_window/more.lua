-- Admits further callers, up to UNITS, each after the charge of the one before.
local faded = previous * (window - offset) / window
while callers < units do
  local counted = current + cost
  if limit - (faded + counted) < cost then break end
  current, callers = counted, callers + 1
end
