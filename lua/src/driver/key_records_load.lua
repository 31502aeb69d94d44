  -- A key that is blocked is charged nothing, whatever room its limits have. One that its own limit denies, and not what
  -- is held, will be.
  local key_record = key_records[record_of[i]]
  own_grants[i] = repeated and 1 or grant
  if key_record then
    if key_record.was_blocked then
      grant = 0
    elseif (op == CHECK or op == RESERVE) and not repeated and found[2] < units[i] * price_of[i] then
      key_record.is_denied = true
      if counts_denied[i] == 1 and (op == CHECK or not holding) then
        -- The slot that a wait depends on is that of the same cost after this one is charged.
        arg = sub(arg, 1, PARAMS - 1) .. pack('<d', 2 * cost) .. sub(arg, PARAMS + 8)
        found = { load_of[which[i]](keys[i], arg) }
        found[3] = cost
      end
    end
  end
