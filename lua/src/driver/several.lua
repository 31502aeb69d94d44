-- Several limits, decided together. Limits of group 0 are enforced: each of them has room, or none
-- is charged. Every other group is a rule in shadow: charged when it has room itself and the
-- enforced ones were admitted, and never in the way of the others.
local count = #KEYS
local loaded, grants, group_of, group_grant = {}, {}, {}, { [0] = units }
for i = 1, count do
  local arg = ARGV[i + 1]
  local which, group = unpack_numbers('<dd', arg)
  local limit = { load_of[which](KEYS[i], arg) }
  if not limit[1] then return bad_state() end
  local grant = floor(limit[2] / limit[1])
  if grant > units then grant = units end
  limit.which, limit.group = which, group
  loaded[i], grants[i] = limit, grant
  local least = group_grant[group]
  if not least or grant < least then group_grant[group] = grant end
end

local replies = {}
for i = 1, count do
  local limit = loaded[i]
  local which, forced = limit.which, limit[3]
  local a, b, c, d, e = limit[4], limit[5], limit[6], limit[7], limit[8]
  local grant = group_grant[limit.group]
  if group_grant[0] < grant then grant = group_grant[0] end
  local charged = mode == 1 and grant > 0
  if charged then
    commit_of[which](KEYS[i], grant * limit[1], a, b, c, d, e)
  elseif forced and mode == 1 then
    commit_of[which](KEYS[i], forced, a, b, c, d, e)
  end
  replies[i] = reply_of[which](grants[i], charged, a, b, c, d, e)
end
return replies
