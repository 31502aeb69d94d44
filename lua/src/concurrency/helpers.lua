-- The end of a lease, as a look after a step of the clock back finds it.
local function at_latest(key, ends)
  local latest = latest_ends and latest_ends[key]
  return latest and latest < ends and latest or ends
end

-- The end of the last lease that counts and has not passed; 0 when there is none. Nearly always it is the last of all;
-- where a rule in shadow has many that do not count, ever more are read at once.
local function last_end(key)
  local skipped, wanted = 0, 1
  while true do
    local leases = call('ZRANGEBYSCORE', key, -LATEST, '0', 'WITHSCORES', 'LIMIT', skipped, wanted)
    for at = 1, #leases, 2 do
      if string.sub(leases[at], 1, 1) == 'r' then
        local ends = at_latest(key, -leases[at + 1])
        return ends > now and ends or 0
      end
    end
    if #leases < 2 * wanted then return 0 end
    skipped, wanted = skipped + wanted, 8 * wanted
  end
end

-- The end of the lease by which so much weight is free; 0 when that is never.
local function frees_at(key, weight)
  local skipped, wanted, after = 0, 100, '(' .. string.format('%.0f', -now)
  while true do
    local leases = call('ZREVRANGEBYSCORE', key, after, -LATEST, 'WITHSCORES', 'LIMIT', skipped, wanted)
    for at = 1, #leases, 2 do
      if string.sub(leases[at], 1, 1) == 'r' then weight = weight - unpack_numbers('<d', leases[at], 18) end
      if weight <= 0 then return at_latest(key, -leases[at + 1]) end
    end
    if #leases < 2 * wanted then return 0 end
    skipped, wanted = skipped + wanted, 8 * wanted
  end
end
