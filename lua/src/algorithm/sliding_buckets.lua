-- Sliding buckets: a count per slot of the window, kept as one string: the newest slot with its
-- count and the sum of the others, then (slot, count) of every other slot, oldest first. A check in
-- the newest slot touches no other; empty slots take no room.
--
-- Numbers: cost, limit, window, resolution (microseconds per slot), count_denied (0 or 1)
-- State: slot, current, past, then pairs. Reply: slot, current, past, and the pairs when refused
local HEAD, PAIR = 24, 16

-- The clock stepped back: all that was counted in slots to come counts as of the current one.
local function heal(pairs_text, slot, current, past)
  local position, last = 1, #pairs_text
  while position < last do
    local pair_slot, count = unpack_numbers('<dd', pairs_text, position)
    if pair_slot >= slot then
      current, past = current + count, past - count
      pairs_text = string.sub(pairs_text, 1, position - 1) .. string.sub(pairs_text, position + PAIR)
      last = last - PAIR
    else
      position = position + PAIR
    end
  end
  return pairs_text, current, past
end

-- Drops the slots up to `gone` from the front.
local function expire(pairs_text, gone, past)
  local position, last = 1, #pairs_text
  while position < last do
    local pair_slot, count = unpack_numbers('<dd', pairs_text, position)
    if pair_slot > gone then break end
    position, past = position + PAIR, past - count
  end
  if position > 1 then pairs_text = string.sub(pairs_text, position) end
  return pairs_text, past
end

local function load(key, arg)
  local cost, limit, window, resolution, count_denied = unpack_numbers('<ddddd', arg, PARAMS)
  local slot, gone = floor(now / resolution), floor((now - window) / resolution)
  local current, past, pairs_text, forced = 0, 0, '', nil
  local state = call('GET', key)
  if state then
    if #state < HEAD or (#state - HEAD) % PAIR ~= 0 then return nil end
    local stored
    stored, current, past = unpack_numbers('<ddd', state)
    if not (stored >= 0 and current >= 0 and past >= 0) then return nil end
    if #state > HEAD then pairs_text = string.sub(state, HEAD + 1) end
    if stored < slot then
      if current > 0 then
        pairs_text, past, current = pairs_text .. pack('<dd', stored, current), past + current, 0
      end
    elseif stored > slot then
      forced = 0
      pairs_text, current, past = heal(pairs_text, slot, current, past)
    end
    if pairs_text ~= '' then pairs_text, past = expire(pairs_text, gone, past) end
  end
  local capacity = limit - past - current
  if count_denied == 1 and capacity < cost then forced = cost end
  return cost, capacity, forced, slot, current, past, pairs_text, slot * resolution + window
end

local function commit(key, amount, slot, current, past, pairs_text, empty_at)
  call('SET', key, pack('<ddd', slot, current + amount, past) .. pairs_text, 'PX', ttl(empty_at - now))
end

local function reply(grant, charged, slot, current, past, pairs_text)
  local head = pack('<ddddd', grant, now, slot, current, past)
  if charged then return head end
  return head .. pairs_text
end
