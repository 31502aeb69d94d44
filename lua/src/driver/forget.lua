-- Forgets the states of KEYS[1] to KEYS[count], and what is held in the others. Tokens grow on as long as a lease, of
-- which ARGV[j + 1] says the length, lasts.
for i = 1, count do call('DEL', KEYS[i]) end
for j = 1, #KEYS - count do
  local found = redis.pcall('ZRANGE', KEYS[count + j], '0', '0')
  if found.err and not string.find(found.err, 'WRONGTYPE') then return found end
  local holding = not found.err and open_holding(KEYS[count + j])
  call('DEL', KEYS[count + j])
  if holding and holding.token > 0 then
    holding.held, holding.count, holding.header, holding.lease = 0, 0, nil, unpack_numbers('<d', ARGV[1 + j])
    save(holding)
  end
end
return 1
