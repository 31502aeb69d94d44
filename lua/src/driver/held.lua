-- Checks, looks at, refunds, charges or reserves, beside what is held: it counts in full.
local is_scratch = is_due and only_looks
-- By limit: how long its sorted set yet lives.
local lives = {}

-- Whether what a look charges to a sorted set would stand after all that is in it, from where it can be taken out again.
-- (A copy of a large one takes the server a tenth of a second.)
local function may_borrow(i)
  if kind[i] ~= 4 then return false end
  local newest = call('ZRANGE', KEYS[i], '-1', '-1', 'WITHSCORES')[2]
  return not newest or tonumber(newest) <= now
end

local function copy_states()
  for i = 1, limits do
    if may_borrow(i) then
      borrowed[i], lives[i] = 0, call('PTTL', KEYS[i])
    elseif kind[i] >= 0 then
      local copy, state = KEYS[limits + #holdings + i], call('DUMP', KEYS[i])
      keys[i] = copy
      call('DEL', copy)
      if state then call('RESTORE', copy, 60000, state) end
    end
  end
end

-- Whether this very call was carried out already: it is sent again when its answer is lost.
local function is_repeated()
  for j = 1, #holdings do
    local holding = holdings[j]
    local named = holding.named
    if call('ZSCORE', holding.key, 'r' .. named) then
      holding.held, holding.count = holding.held - holding.weight, holding.count - 1
      holding.is_repeated, holding.counted = true, true
    elseif holding.group > 0 and call('ZSCORE', holding.key, 's' .. named) then
      holding.count, holding.is_repeated = holding.count - 1, true
    end
  end
  return holdings[1].is_repeated
end

local function refund(i)
  local found = { load_of[which[i]](keys[i], ARGV[1 + i]) }
  local charged_at = extra[i] >= 0 and extra[i]
  if not charged_at or charged_at <= now and not found[3] then
    refund_of[which[i]](keys[i], found[1], charged_at, unpack(found, 4, 12))
  end
end

local loaded, grants, group_grant = {}, {}, { [0] = 1 }

local function load(i, repeated)
  local holding = holdings[holder_of[i]]
  local held = holding and holding.held or 0
  local arg, cost = ARGV[1 + i], (units[i] + held) * price_of[i]
  if held > 0 then arg = sub(arg, 1, PARAMS - 1) .. pack('<d', cost) .. sub(arg, PARAMS + 8) end
  local found = { load_of[which[i]](keys[i], arg) }
  if not found[2] then return found[1] end
  local grant = found[2] >= cost and 1 or 0
  if op == RESERVE and holding and holding.count >= MOST_HELD then grant = 0 end
  --KEY RECORD LOAD
  if repeated then grant = 1 end
  loaded[i], grants[i] = found, grant
  local least = group_grant[group[i]]
  if not least or grant < least then group_grant[group[i]] = grant end
end

local function finish(i, repeated)
  local found, holding = loaded[i], holdings[holder_of[i]]
  local amount = found[3]
  if op == CHARGE then
    amount = extra[i]
    if holding and kind[i] == 1 and holding.held > 0 then
      -- What is held will be charged as well.
      local over = math.min(amount + holding.held * price_of[i] - found[2], LATEST)
      if over > 0 then
        prolong(holding, now + holding.lease + holding.longest + over)
        save(holding)
      end
    end
  elseif group_grant[0] > 0 and group_grant[group[i]] > 0 and (op == CHECK or op == RESERVE and not holding) then
    amount = units[i] * price_of[i]
  end
  if op == PEEK or repeated then amount = nil end
  --KEY RECORD GRANT
  return commit_of[which[i]](keys[i], grants[i], amount, unpack(found, 4, 12))
end

local function hold(holding, counts, token)
  local named, ends = holding.named, now + holding.lease
  if holding.is_repeated then counts = holding.counted end
  if counts then holding.held = holding.held + holding.weight end
  holding.count, holding.token = holding.count + 1, token
  holding.longest_lease = math.max(holding.longest_lease, holding.lease)
  prolong(holding, ends + holding.longest)
  if not holding.is_repeated then
    call('ZADD', holding.key, -ends, (counts and 'r' or 's') .. named)
    if holding.price > 0 then call('ZADD', holding.key, holding.price, 'p' .. holding.id) end
  end
  save(holding)
end

local function decide()
  if is_due then
    if is_scratch then copy_states() end
    local foreign = find_foreign()
    if foreign then return foreign end
    if not settle(not is_scratch) then
      keep_states()
      return UNSETTLED
    end
  end
  local repeated = op == RESERVE and is_repeated()
  if op == REFUND then
    local foreign = find_foreign()
    if foreign then return foreign end
    for i = 1, limits do refund(i) end
  end
  for i = 1, limits do
    local foreign = load(i, repeated)
    if foreign then return foreign end
    if op == CHARGE and extra[i] - loaded[i][2] > LATEST then return 0 end
  end
  local replies, token = {}, 0
  for i = 1, limits do replies[i] = finish(i, repeated) end
  local is_granted = op == RESERVE and group_grant[0] > 0
  if is_granted then
    token = now
    for j = 1, #holdings do token = math.max(token, holdings[j].token + 1) end
  end
  for j = 1, #holdings do
    local holding = holdings[j]
    local frees = 0
    if holding.count >= MOST_HELD then
      frees = first_end_of(call('ZREVRANGEBYSCORE', holding.key, '0', -LATEST, 'WITHSCORES', 'LIMIT', '0', '1')) or now
      local latest = latest_ends and latest_ends[holding.key]
      if latest and latest < frees then frees = latest end
    end
    replies[limits + j] = pack('<ddd', holding.held, frees, token)
    -- What was stated was the end of a lease that is no more.
    local is_stale = holding.header and holding.stated_end ~= (holding.first_end or 0)
    if holding.is_healed or is_stale and op == CHECK and grants[1] > 0 then save(holding) end
    if is_granted then hold(holding, group_grant[holding.group] > 0, token) end
  end
  --KEY RECORD REPLY
  if op ~= PEEK or is_due and not is_scratch then keep_states() end
  return replies
end

if not is_scratch then return decide() end
local fine, answer = pcall(decide)
for i = 1, limits do
  if keys[i] ~= KEYS[i] then call('DEL', keys[i]) end
  if borrowed[i] and borrowed[i] > 0 then
    local found = { load_of[which[i]](keys[i], ARGV[1 + i]) }
    found[4] = found[5]
    refund_of[which[i]](keys[i], borrowed[i], nil, unpack(found, 4, 12))
    if lives[i] > 0 then call('PEXPIRE', keys[i], lives[i]) end
  end
end
if not fine then error(answer, 0) end
return answer
