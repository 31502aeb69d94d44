-- What stands beside the states of keys: their blocks and limits of their own. Its keys are the last ones.
--
-- The numbers of each limit go on at byte 57, before its own: the number of its key record (0: none), takes_stored (1: a limit
-- that is stored takes the place of this one), counts_denied (1: a denied cost is charged), first_block, growth and
-- longest_block, asked (the cost), most_charged (of a charge, in limits; 0: no bound), refill (the time in which the limit
-- is admitted anew) and burst (0: as much as the limit).
PARAMS = 137
-- The most entries that a log may have.
local MOST_LOGGED = 100000
local record_of, counts_denied, key_records, own_grants = {}, {}, {}, {}

local function open_key_record(record_key)
  --LOAD
  return {
    key = record_key, is_stored = key_record, blocked_until = blocked_until, length_of_block = length_of_block, grown = grown,
    own_limit = own_limit, own_until = own_until, own_length = own_length, is_healed = is_healed, in_force = 0,
  }
end

-- Begins a block, or writes what a step of the clock back has healed.
local function write_block(key_record, begins)
  local record_key, blocked_until, length_of_block = key_record.key, key_record.blocked_until, key_record.length_of_block
  local grown, own_limit = key_record.grown, key_record.own_limit
  local own_until, own_length = key_record.own_until, key_record.own_length
  local first_block, growth, longest_block = key_record.first_block, key_record.growth, key_record.longest_block
  if begins then
    --BEGIN
  end
  --SAVE
  key_record.blocked_until = blocked_until
end

-- Whether what is stored is over.
local function is_over(found)
  local key_record, blocked_until, own_until, grown = found.is_stored, found.blocked_until, found.own_until, found.grown
  local growth, longest_block = found.growth, found.longest_block
  --OVER
  return is_over
end

-- The interval of a debt, and the debt that uses up a burst, at a limit.
local function interval_at(own_limit, refill, burst)
  local units, unit, cost, full = 0, 0, 0, 0
  --STORED
  return unit, full
end

-- A limit's numbers at the limit that is stored for its key.
local function at_stored(i, arg)
  local key_record = key_records[record_of[i]]
  local takes_stored, _, _, _, _, cost, most_charged, refill, burst = unpack_numbers('<ddddddddd', arg, 65)
  if takes_stored == 0 or key_record.own_until <= now then return arg end
  local price, at_limit, own_limit = 1, '', key_record.own_limit
  -- Only a log bounds what is charged; it was perhaps stored under another algorithm.
  if most_charged > 0 then own_limit = math.min(own_limit, MOST_LOGGED) end
  key_record.in_force = key_record.own_until < LATEST and -own_limit or own_limit
  if op == COMMIT or op == CHARGE then
    if most_charged > 0 then cost = math.min(cost, most_charged * own_limit) end
  end
  local amount, peeked = cost, op == CHARGE and 1 or 0
  if kind[i] == 1 then
    local full
    price, full = interval_at(own_limit, refill, burst)
    amount = cost * price
    at_limit = pack('<ddd', (cost + peeked) * price, full, price)
    local holding = holdings[holder_of[i]]
    if holding then holding.longest = math.max(holding.longest, math.min(math.ceil(full), LATEST)) end
  else
    at_limit = pack('<dd', cost + peeked, own_limit)
  end
  local extra_at = (op == COMMIT or op == CHARGE) and pack('<d', amount) or sub(arg, 41, 48)
  return sub(arg, 1, 24) .. pack('<dd', price, cost + peeked) .. extra_at .. sub(arg, 49, PARAMS - 1) .. at_limit
    .. sub(arg, PARAMS + #at_limit)
end

local record_count = 0
for i = 1, limits do
  local number, _, counts = unpack_numbers('<ddd', ARGV[1 + i], 57)
  record_of[i], counts_denied[i] = number, counts
  record_count = math.max(record_count, record_of[i])
end
for s = 1, record_count do
  local key_record = open_key_record(KEYS[#KEYS - record_count + s])
  if key_record.err then return key_record end
  key_record.was_blocked = key_record.blocked_until > now
  key_records[s] = key_record
end
for i = 1, limits do
  local key_record, arg, stated = key_records[record_of[i]], ARGV[1 + i], ARGV[1 + limits + i]
  if key_record then
    key_record.first_block, key_record.growth, key_record.longest_block = unpack_numbers('<ddd', arg, 81)
    key_record.is_healed = key_record.is_healed or is_over(key_record)
    if stated ~= '' then ARGV[1 + limits + i] = at_stored(i, stated) end
    key_record.in_force = 0
    ARGV[1 + i] = at_stored(i, arg)
    price_of[i], units[i], extra[i] = unpack_numbers('<ddd', ARGV[1 + i], 25)
  end
end
