-- The end of the last lease that counts; 0 when there is none.
local function last_end(key)
  local skipped, after = 0, '(' .. string.format('%.0f', now)
  while true do
    local last = call('ZREVRANGEBYSCORE', key, LATEST, after, 'WITHSCORES', 'LIMIT', skipped, 1)
    if not last[1] then return 0 end
    if string.sub(last[1], 1, 1) == 'r' then return tonumber(last[2]) end
    skipped = skipped + 1
  end
end

-- The end of the lease by which so much weight is free; 0 when that is never.
local function frees_at(key, weight)
  local skipped, after = 0, '(' .. string.format('%.0f', now)
  while true do
    local leases = call('ZRANGEBYSCORE', key, after, LATEST, 'WITHSCORES', 'LIMIT', skipped, 100)
    for at = 1, #leases, 2 do
      if string.sub(leases[at], 1, 1) == 'r' then weight = weight - unpack_numbers('<d', leases[at], 18) end
      if weight <= 0 then return tonumber(leases[at + 1]) end
    end
    if #leases < 200 then return 0 end
    skipped = skipped + 100
  end
end
