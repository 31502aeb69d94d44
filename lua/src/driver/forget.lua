-- Forgets the states of KEYS[1] to KEYS[count], and what is held in the others. Tokens grow on as long as a lease, of
-- which ARGV[j + 1] says the length, lasts.
for i = 1, count do call('DEL', KEYS[i]) end
for j = 1, #KEYS - count do
  local holding = open_holding(KEYS[count + j])
  if not holding then return { err = BAD_STATE } end
  call('DEL', holding.key)
  if holding.token > 0 then
    holding.held, holding.count, holding.header, holding.lease = 0, 0, nil, unpack_numbers('<d', ARGV[1 + j])
    save(holding)
  end
end
return 1
