-- Sliding buckets: a count per slot of the window, kept as one string: the newest slot with its
-- count and the sum of the others, then (slot, count) of every other slot, oldest first. Empty slots
-- take no room. A check in the newest slot reads and writes the head alone, however many slots there are.
--
-- Numbers: cost, limit, window, resolution (microseconds per slot), count_denied (0 or 1)
-- State: slot, current, past, then pairs
-- Reply: slot, current, past, the newest slot with a count (any, if there is none), and, when refused,
--   the slot that must go before the cost fits
local cost, limit, window, resolution, count_denied = unpack_numbers('<ddddd', arg, PARAMS)
local slot, gone = floor(now / resolution), floor((now - window) / resolution)
local current, past, others, forced, oldest, oldest_count = 0, 0, '', nil, nil, 0
-- What is to follow the stored pairs when the state is written: nil, or the pair of a slot that has become
-- one of the past. So a denial in a new slot, which writes nothing, need not read the pairs.
local tail
-- The head and the oldest pair.
local head = call('GETRANGE', key, '0', '39')
if head ~= '' then
  if #head ~= 24 and #head ~= 40 then return { err = BAD_STATE } end
  local stored
  stored, current, past = unpack_numbers('<ddd', head)
  if not (stored >= 0 and stored <= LATEST) then return { err = BAD_STATE } end
  if not (current >= 0 and past >= 0 and current + past < ENDLESS) then return { err = BAD_STATE } end
  if #head == 40 then oldest, oldest_count = unpack_numbers('<dd', head, 25) end
  if stored > slot or (oldest or stored) <= gone then
    others, current, past, forced = bucket_helpers(key).advance(stored, slot, gone, current, past)
    if not others then return { err = BAD_STATE } end
  else
    others = nil
    if stored < slot then
      tail = ''
      if current > 0 then
        tail = pack('<dd', stored, current)
        if not oldest then oldest, oldest_count = stored, current end
        past, current = past + current, 0
      end
    end
  end
elseif call('EXISTS', key) == 1 then
  return { err = BAD_STATE }
end
local capacity, newest, pivot = limit - past - current, slot, slot
if current == 0 and past > 0 then newest = bucket_helpers(key).newest(others, tail) end
if capacity < cost then
  local surplus = cost - capacity
  if count_denied == 1 then
    forced = cost
    if mode == 1 then surplus = surplus + cost end
  end
  if not others and oldest and surplus <= oldest_count then
    pivot = oldest
  elseif surplus <= past then
    local helpers = bucket_helpers(key)
    pivot = helpers.freeing(helpers.all(others, tail), surplus, slot)
  end
end
