local ARGV = ARGV
if #ARGV == 1 then
  local all = ARGV[1]
  ARGV = { all, sub(all, 25, -HOLDER - 1), '', sub(all, -HOLDER) }
end
local limits, which, group, holder_of, price_of, units, extra, kind = count, {}, {}, {}, {}, {}, {}, {}
for i = 1, limits do
  which[i], group[i], holder_of[i], price_of[i], units[i], extra[i], kind[i] = unpack_numbers('<ddddddd', ARGV[1 + i])
end
local holdings, keys, is_due = {}, {}, false
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
  heal(holding)
  if holding.first_end and holding.first_end <= now then is_due = true end
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
  commit_of[which[i]](key, 0, amount, unpack(found, 4, 12))
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

-- Charges what was held until its lease ended, in the order of those ends, then of the ids, before anything else is done.
-- The set has those of one end in the other order.
local function charge_ended(number, writes)
  local holding = holdings[number]
  local ended = call('ZREVRANGEBYSCORE', holding.key, '0', -now, 'WITHSCORES')
  local first = 1
  while first < #ended do
    local last = first
    while ended[last + 3] == ended[first + 1] do last = last + 2 end
    for at = last, first, -2 do charge_ended_one(number, ended[at], -ended[at + 1], writes) end
    first = last + 2
  end
  if #ended > 0 and writes then
    call('ZREMRANGEBYSCORE', holding.key, -now, '0')
    save(holding)
  end
end

-- What is held may be charged to a state long after it ended, when somebody comes again: to the state as it was
-- then, which for that long must not expire where what is charged later depends on it.
local function keep_states()
  for i = 1, limits do
    local holding = holdings[holder_of[i]]
    if holding and holding.count > 0 and kind[i] > 0 then
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
