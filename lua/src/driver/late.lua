local ARGV = ARGV
if #ARGV == 1 then
  local all = ARGV[1]
  ARGV = { all, sub(all, 25, -HOLDER - 1), '', sub(all, -HOLDER) }
end
local limits, which, group, holder_of, price_of, units, extra, kind = count, {}, {}, {}, {}, {}, {}, {}
for i = 1, limits do
  which[i], group[i], holder_of[i], price_of[i], units[i], extra[i], kind[i] = unpack_numbers('<ddddddd', ARGV[1 + i])
end
local holdings, keys, is_due, only_looks, entries = {}, {}, false, op == PEEK, 0
-- By limit: how many entries a look has added to a sorted set, which it takes out again.
local borrowed = {}
local function has_log(number)
  for i = 1, limits do
    if holder_of[i] == number and kind[i] >= 3 then return true end
  end
end
for i = 1, limits do keys[i] = KEYS[i] end
for j = 1, #ARGV - 1 - 2 * limits do
  local holding = open_holding(KEYS[limits + j])
  if not holding then return { err = BAD_STATE } end
  local arg = ARGV[1 + 2 * limits + j]
  holding.weight, holding.lease, holding.longest, holding.group, holding.price, holding.timeout =
    unpack_numbers('<dddddd', arg)
  holding.id, holding.call_id = sub(arg, RESERVATION_ID, RESERVATION_ID + 15), sub(arg, CALL_ID)
  holding.named = sub(arg, RESERVATION_ID, CALL_ID - 1)
  holdings[j] = holding
  if holding.first_end and holding.first_end <= now then
    is_due, only_looks = true, only_looks and not has_many_ended(holding, has_log(j))
  end
end
if is_due and op == PEEK then
  -- A write that changes nothing: where the server would refuse to write, a look decides as if the leases were yet to end.
  local holding = holdings[1]
  local refused = redis.pcall('ZADD', holding.key, 'XX', '-inf', holding.header or '')
  if type(refused) == 'table' and refused.err then is_due, only_looks = false, true end
end
for j = 1, #holdings do
  if not heal(holdings[j], only_looks) then return UNSETTLED end
end

--KEY RECORDS
-- Charges to a limit what was held until its lease ended. The life of what is written is reckoned from then.
local function charge_late(i, ended_at, weight, price)
  local key, arg, real = keys[i], ARGV[1 + limits + i], now
  if arg == '' then arg = ARGV[1 + i] end
  if price and kind[i] == 1 then
    -- The last number of such a limit is what a unit takes. (The rule may have had another algorithm when it was reserved.)
    arg = sub(arg, 1, PARAMS + 15) .. pack('<d', price)
  else
    price = select(4, unpack_numbers('<dddd', arg))
  end
  now = ended_at
  local found = { load_of[which[i]](key, arg) }
  -- By the calendar, a window before the last one: it no longer counts.
  if not found[2] then
    now = real
    return
  end
  if found[3] == 0 then
    now = real
    found = { load_of[which[i]](key, arg) }
  end
  if not found[2] then
    -- It ended in a window of the calendar that is over.
    now = real
    return
  end
  local amount = math.max(math.min(weight * price, LATEST + found[2]), 0)
  local before = call('PTTL', key)
  if borrowed[i] then
    -- As many are live as there are: what is gone is left to calls that write.
    found[4], borrowed[i] = found[5], borrowed[i] + amount
  end
  commit_of[which[i]](key, 0, amount, unpack(found, 4, 12))
  if kind[i] >= 3 then entries = entries + amount end
  local after = call('PTTL', key)
  if after > before then
    -- It was given a longer life. (Less may be left than before without, where time goes on in a script. A shorter one is left
    -- as it is.)
    -- What is over by now may yet matter to what ended after it: it stays for the rest of this script.
    call('PEXPIRE', key, math.max(after - floor((real - now) / 1000), 1))
  end
  now = real
end

-- Charges, to the limits of a holder, what one reservation held until its lease ended.
local function charge_ended_one(number, member, ended_at, writes)
  local holding, price = holdings[number], 'p' .. sub(member, 2, 17)
  local own = call('ZSCORE', holding.key, price)
  if sub(member, 1, 1) == 'r' then
    local weight = unpack_numbers('<d', member, 18)
    holding.held = holding.held - weight
    for i = 1, limits do
      if holder_of[i] == number and kind[i] >= 0 then charge_late(i, ended_at, weight, own and tonumber(own)) end
    end
  end
  if own and writes then call('ZREM', holding.key, price) end
  holding.count = holding.count - 1
end

-- The leases that have ended, in the order of those ends, then of the ids, so many at most; and whether there are more. The
-- set has those of one end in the other order.
local function next_ended(key, most)
  local found, ended = call('ZREVRANGEBYSCORE', key, '0', -now, 'WITHSCORES', 'LIMIT', '0', most + 1), {}
  local is_cut, last_end = #found > 2 * most, found[#found]
  -- Of those of the last end there may be more than were read.
  if is_cut and found[2] == last_end then
    return call('ZRANGEBYSCORE', key, last_end, last_end, 'WITHSCORES', 'LIMIT', '0', most), true
  end
  local first = 1
  while first < #found and not (is_cut and found[first + 1] == last_end) do
    local last = first
    while found[last + 3] == found[first + 1] do last = last + 2 end
    for at = last, first, -2 do
      ended[#ended + 1], ended[#ended + 2] = found[at], found[at + 1]
    end
    first = last + 2
  end
  return ended, is_cut
end

-- Charges what was held until its lease ended, before anything else is done. Answers how many those are, and whether
-- there are more.
local function charge_ended(number, most, writes)
  local holding, members = holdings[number], {}
  local ended, is_cut = next_ended(holding.key, most)
  for at = 1, #ended, 2 do
    if writes and entries >= MOST_ENTRIES then
      is_cut = true
      break
    end
    charge_ended_one(number, ended[at], -ended[at + 1], writes)
    members[#members + 1] = ended[at]
  end
  if #members > 0 and writes then
    call('ZREM', holding.key, unpack(members))
    save(holding)
  end
  return #members, is_cut
end

-- Charges what has ended of all holders; answers whether nothing is left.
local function settle(writes)
  local left = floor(MOST_SETTLED / limits)
  for j = 1, #holdings do
    local count, is_cut = charge_ended(j, left, writes)
    left = left - count
    if is_cut then return false end
  end
  return true
end

-- What is held may be charged to a state long after it ended, when somebody comes again: to the state as it was
-- then, which for that long must not expire where what is charged later depends on it.
local function keep_states()
  for i = 1, limits do
    local holding = holdings[holder_of[i]]
    if holding and holding.count > 0 and (kind[i] == 1 or kind[i] == 2) then
      local left, wanted = call('PTTL', keys[i]), math.ceil((holding.kept_until - now) / 1000) + slack
      if left >= 0 and left < wanted then call('PEXPIRE', keys[i], wanted) end
    end
  end
end

-- Whether every state is one of ours, before any is charged.
local function find_foreign()
  for i = 1, limits do
    local found = { load_of[which[i]](keys[i], ARGV[1 + i]) }
    if not found[2] then return found[1] end
  end
end
