-- Several limits, decided together. Limits of group 0 are enforced: each of them has room, or none
-- is charged. Every other group is a rule in shadow: charged when it has room itself and the
-- enforced ones were admitted, and never in the way of the others.
local count = #KEYS
local loaded, grants, group_grant = {}, {}, { [0] = units }
for i = 1, count do
  local arg = ARGV[i + 1]
  local which, group = unpack_numbers('<dd', arg)
  local cost, capacity, forced, a, b, c, d, e, f, g, h, k = load_of[which](KEYS[i], arg)
  if not capacity then return cost end
  local grant = 0
  if capacity >= cost then grant = units > 1 and math.min(units, math.floor(capacity / cost)) or 1 end
  loaded[i], grants[i] = { which, group, cost, forced, a, b, c, d, e, f, g, h, k }, grant
  local least = group_grant[group]
  if not least or grant < least then group_grant[group] = grant end
end

local replies = {}
for i = 1, count do
  local which, group, cost, forced, a, b, c, d, e, f, g, h, k = unpack(loaded[i], 1, 13)
  local grant, amount = group_grant[group], forced
  if group_grant[0] < grant then grant = group_grant[0] end
  if grant > 0 then amount = grant * cost end
  if amount and mode == 1 then commit_of[which](KEYS[i], amount, a, b, c, d, e, f, g, h, k) end
  replies[i] = reply_of[which](grants[i], a, b, c, d, e, f, g, h, k)
end
return replies
