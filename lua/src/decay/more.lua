-- Admits further callers, up to UNITS, each after the charge of the one before. (Not by one product: a sum of
-- fractions depends on its order.)
while callers < units do
  local risen = level + cost
  if limit - risen < cost then break end
  level, callers = risen, callers + 1
end
