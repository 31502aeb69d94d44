-- Sliding buckets: a count per slot of the window, kept as one string: the newest slot with its
-- count and the sum of the others, then (slot, count) of every other slot, oldest first. Empty slots
-- take no room. A check in the newest slot reads and writes the head alone, however many slots there are, and
-- one that writes nothing reads no further than to the oldest pair that matters to it.
--
-- Numbers: cost, limit, window, resolution (microseconds per slot), count_denied (0 or 1)
-- State: slot, current, past, then pairs
-- Reply: slot, current, past, the newest slot with a count (any, if there is none), and, when refused,
--   the slot that must go before the cost fits
local horizon = now - window
local slot, gone = (now - now % resolution) / resolution, (horizon - horizon % resolution) / resolution
local current, past, forced, oldest, oldest_count = 0, 0, nil, nil, 0
-- The pairs to be written: those stored from byte FIRST on (nil: none), then TAIL. No TAIL: just those stored.
local first, tail = nil, ''
-- The head and the oldest pairs.
local head = call('GETRANGE', key, '0', '87')
if head ~= '' then
  if #head < 24 or #head % 16 ~= 8 then return { err = BAD_STATE } end
  local stored
  if #head > 24 then
    stored, current, past, oldest, oldest_count = unpack_numbers('<ddddd', head)
  else
    stored, current, past = unpack_numbers('<ddd', head)
  end
  if not (stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if not (current >= 0 and past >= 0 and current + past < ENDLESS) then return { err = BAD_STATE } end
  if stored <= gone then
    current, past, oldest = 0, 0, nil
  elseif stored > slot then
    -- The clock stepped back: all that was counted in slots to come counts as of the current one. Nothing is
    -- gone that was there when it was written.
    local stored_pairs = call('GETRANGE', key, '24', '-1')
    local kept = #stored_pairs
    if kept % 16 ~= 0 then return { err = BAD_STATE } end
    oldest, forced, first = nil, 0, 24 + kept
    while kept > 0 do
      local pair_slot, count = unpack_numbers('<dd', stored_pairs, kept - 15)
      if pair_slot < slot then break end
      current, past, kept = current + count, past - count, kept - 16
    end
    tail = string.sub(stored_pairs, 1, kept)
  else
    first = 24
    if stored == slot then
      tail = nil
    else
      -- The pairs will be written again, those beyond the head unseen.
      if #head == 88 and call('STRLEN', key) % 16 ~= 8 then return { err = BAD_STATE } end
      if current > 0 then
        tail = pack('<dd', stored, current)
        past, current = past + current, 0
      end
    end
    if oldest and oldest <= gone then
      local passed
      oldest, oldest_count, first, passed = walk(key, head, tail or '', first, gone, 0)
      past, tail = past - passed, tail or ''
    end
  end
  if not (past >= 0) then return { err = BAD_STATE } end
elseif call('EXISTS', key) == 1 then
  return { err = BAD_STATE }
end
local capacity, newest, pivot, newest_count = limit - past - current, slot, slot, 0
if current == 0 and past > 0 then
  local last = tail ~= '' and tail or call('GETRANGE', key, '-16', '-1')
  newest, newest_count = unpack_numbers('<dd', last, #last - 15)
end
if capacity < cost then
  local surplus = cost - capacity
  if count_denied == 1 then
    forced = cost
    if mode == 1 then surplus = surplus + cost end
  end
  if oldest and surplus <= oldest_count then
    pivot = oldest
  elseif surplus <= past and surplus > past - newest_count then
    pivot = newest
  elseif surplus <= past then
    pivot = walk(key, head, tail or '', first, gone, surplus) or slot
  end
end
