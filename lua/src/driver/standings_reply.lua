  -- Blocks begin. The reply has until when the key is blocked (negative: it was not before), and the limit
  -- in force if it is a stored one.
  for i = 1, limits do
    local standing = standings[standing_of[i]]
    if op == CHARGE and standing and standing.first_block > 0 and not standing.was_blocked then
      local arg = ARGV[1 + i]
      arg = sub(arg, 1, PARAMS - 1) .. pack('<d', price_of[i]) .. sub(arg, PARAMS + 8)
      local _, capacity = load_of[which[i]](keys[i], arg)
      if capacity < price_of[i] then standing.is_denied = true end
    end
  end
  for s = 1, #standings do
    local standing, block = standings[s], 0
    if standing.was_blocked then
      block = repeated and 0 or standing.blocked_until
    elseif standing.is_denied and standing.first_block > 0 then
      write_block(standing, true)
      block, standing.is_healed = -standing.blocked_until, false
    end
    if standing.is_healed and op ~= PEEK then write_block(standing, false) end
    replies[limits + #holdings + s] = pack('<dd', block, standing.in_force)
  end
