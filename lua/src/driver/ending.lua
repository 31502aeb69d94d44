--KEY RECORD HEAL
if is_due then
  local foreign = find_foreign()
  if foreign then return foreign end
  if not settle(true) then
    keep_states()
    return UNSETTLED
  end
end
local mark = holdings[1].call_id
for answer, kind_of_mark in pairs({ [0] = 'f', 'e' }) do
  if call('ZSCORE', holdings[1].key, kind_of_mark .. mark) then return answer end
end

local is_held = 1
for j = 1, #holdings do
  local holding = holdings[j]
  local named = holding.named
  for _, kept in ipairs({ 'r', 's' }) do
    if call('ZSCORE', holding.key, kept .. named) then holding.member, holding.counts = kept .. named, kept == 'r' end
  end
  if not holding.member then is_held = 0 end
end

-- Of what holds nothing, a rule in shadow charges to all of its limits what all of them have room for.
local loaded, amounts, group_room = {}, {}, {}
for i = 1, limits do
  local holding = holdings[holder_of[i]]
  local found = { load_of[which[i]](keys[i], ARGV[1 + i]) }
  if not found[2] then return found[1] end
  loaded[i] = found
  if holding.member and not holding.counts then
    local room = floor(found[2] / price_of[i])
    if room > 0 and room * price_of[i] > found[2] then room = room - 1 end
    room = math.max(room - holding.held, 0)
    group_room[group[i]] = math.min(room, group_room[group[i]] or room)
  end
end
for i = 1, limits do
  local holding, amount = holdings[holder_of[i]], extra[i]
  if not holding.member or op ~= COMMIT then
    amount = 0
  elseif not holding.counts then
    amount = math.min(units[i], group_room[group[i]]) * price_of[i]
  end
  if amount > 0 and amount - loaded[i][2] > LATEST then return -1 end
  amounts[i] = amount
end

local function let_go(holding)
  call('ZREM', holding.key, holding.member)
  if holding.price > 0 then call('ZREM', holding.key, 'p' .. holding.id) end
  if holding.counts then holding.held = holding.held - holding.weight end
  holding.count = holding.count - 1
end

for j = 1, #holdings do
  local holding = holdings[j]
  if holding.member then
    if op == COMMIT then
      let_go(holding)
    else
      call('ZADD', holding.key, -now - holding.lease, holding.member)
      holding.longest_lease = math.max(holding.count > 1 and holding.longest_lease or 0, holding.lease)
      prolong(holding, now + holding.lease + holding.longest)
    end
    if j == 1 then
      if now - holding.swept > holding.timeout then
        call('ZREMRANGEBYSCORE', holding.key, MARKS - math.floor(now / 1000), MARKS)
        holding.swept = now
      end
      call('ZADD', holding.key, MARKS - math.ceil((now + holding.timeout) / 1000), (is_held == 1 and 'e' or 'f') .. mark)
      holding.marked_until = now + holding.timeout
    end
  end
end
for i = 1, limits do
  -- What is still held will be charged as well.
  local holding = holdings[holder_of[i]]
  local over = kind[i] == 1 and math.min(amounts[i] + holding.held * price_of[i] - loaded[i][2], LATEST) or 0
  if over > 0 then prolong(holding, now + holding.lease + holding.longest + over) end
  -- A state of a time that has not come yet is healed.
  if (amounts[i] > 0 or loaded[i][3]) and kind[i] >= 0 then
    commit_of[which[i]](keys[i], 0, amounts[i], unpack(loaded[i], 4, 12))
  end
end
for j = 1, #holdings do
  if holdings[j].member or holdings[j].is_healed then save(holdings[j]) end
end
keep_states()
return is_held
