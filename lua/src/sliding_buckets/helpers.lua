-- The pairs of the other slots: to heal, to expire, to look up. What is seldom needed is made when it is.
local function bucket_helpers(key)
  local PAIR = 16

  -- The clock stepped back: all that was counted in slots to come counts as of the current one.
  local function heal(others, slot, current, past)
    local position, last = 1, #others
    while position < last do
      local pair_slot, count = unpack_numbers('<dd', others, position)
      if pair_slot >= slot then
        current, past = current + count, past - count
        others = string.sub(others, 1, position - 1) .. string.sub(others, position + PAIR)
        last = last - PAIR
      else
        position = position + PAIR
      end
    end
    return others, current, past
  end

  -- Drops the slots up to `gone` from the front.
  local function expire(others, gone, past)
    local position, last = 1, #others
    while position < last do
      local pair_slot, count = unpack_numbers('<dd', others, position)
      if pair_slot > gone then break end
      position, past = position + PAIR, past - count
    end
    if position > 1 then others = string.sub(others, position) end
    return others, past
  end

  -- The pairs that are stored.
  local function stored_pairs()
    return call('GETRANGE', key, '24', '-1')
  end

  -- The pairs of the other slots, oldest first.
  local function all(others, tail)
    return others or stored_pairs() .. (tail or '')
  end

  -- Brings the state to `slot`: what was current becomes past, what is too old goes.
  local function advance(stored, slot, gone, current, past)
    local pairs_text, healed = stored_pairs(), nil
    if #pairs_text % PAIR ~= 0 then return nil end
    if stored < slot then
      if current > 0 then
        pairs_text, past, current = pairs_text .. pack('<dd', stored, current), past + current, 0
      end
    elseif stored > slot then
      healed = 0
      pairs_text, current, past = heal(pairs_text, slot, current, past)
    end
    pairs_text, past = expire(pairs_text, gone, past)
    return pairs_text, current, past, healed
  end

  -- The slot with whose passing `surplus` has left the window.
  local function freeing(pairs_text, surplus, slot)
    for position = 1, #pairs_text, PAIR do
      local pair_slot, count = unpack_numbers('<dd', pairs_text, position)
      surplus = surplus - count
      if surplus <= 0 then return pair_slot end
    end
    return slot
  end

  -- The slot of the last pair.
  local function newest(others, tail)
    local text = tail ~= '' and tail or others or call('GETRANGE', key, '-16', '-1')
    return (unpack_numbers('<d', text, #text - PAIR + 1))
  end

  return { all = all, advance = advance, freeing = freeing, newest = newest }
end

