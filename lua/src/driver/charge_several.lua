-- Charges the limits of one rule, beyond them too; when one would be overdrawn by more than 2^53 it answers 0, and
-- none is charged. The number after a limit's group is the amount. Answers with each state as it was before.
local loaded, amounts = {}, {}
for i = 1, #KEYS do
  local arg = ARGV[i + 1]
  local which, _, amount = unpack_numbers('<ddd', arg)
  local found = { load_of[which](KEYS[i], arg) }
  if not found[2] then return found[1] end
  if amount - found[2] > LATEST then return 0 end
  found[1], loaded[i], amounts[i] = which, found, amount
end
local replies = {}
for i = 1, #KEYS do
  local found = loaded[i]
  replies[i] = charge_of[found[1]](KEYS[i], amounts[i], unpack(found, 4, 12))
end
return replies
