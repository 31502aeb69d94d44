-- Several limits, decided together. Limits of group 0 are enforced: each of them has room, or none
-- is charged. Every other group is a rule in shadow: charged when it has room itself and the
-- enforced ones were admitted, and never in the way of the others.
--
-- At the marks stand the fragments of each algorithm, in a branch for the limits that have it.
local loaded, grants, group_grant = {}, {}, { [0] = units }
for i = 1, #KEYS do
  local key, arg = KEYS[i], ARGV[i + 1]
  local which, group = unpack_numbers('<dd', arg)
  --LOAD
  local grant, least = grants[i], group_grant[group]
  if not least or grant < least then group_grant[group] = grant end
end

local replies = {}
for i = 1, #KEYS do
  local key, found, grant = KEYS[i], loaded[i], grants[i]
  local which, group, cost, amount = found[1], found[2], found[3], found[4]
  local shared = group_grant[group]
  if group_grant[0] < shared then shared = group_grant[0] end
  if shared > 0 then amount = shared * cost end
  local is_charged = amount and mode == 1
  --COMMIT
end
return replies
