  -- Blocks begin. The reply has until when the key is blocked (negative: it was not before), and the limit
  -- in force if it is a stored one (negative: it ends).
  for i = 1, limits do
    local key_record = key_records[record_of[i]]
    if op == CHARGE and key_record and key_record.first_block > 0 and not key_record.was_blocked then
      local arg = ARGV[1 + i]
      arg = sub(arg, 1, PARAMS - 1) .. pack('<d', price_of[i]) .. sub(arg, PARAMS + 8)
      local _, capacity = load_of[which[i]](keys[i], arg)
      if capacity < price_of[i] then key_record.is_denied = true end
    end
  end
  for s = 1, #key_records do
    local key_record, block = key_records[s], 0
    if key_record.was_blocked then
      block = repeated and 0 or key_record.blocked_until
    elseif key_record.is_denied and key_record.first_block > 0 then
      write_block(key_record, true)
      block, key_record.is_healed = -key_record.blocked_until, false
    end
    if key_record.is_healed and op ~= PEEK then write_block(key_record, false) end
    replies[limits + #holdings + s] = pack('<dd', block, key_record.in_force)
  end
