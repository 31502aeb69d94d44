  for key, size in pairs(holding.size_of) do
    local state = call('GET', key)
    if state and #state == size + HEADER then call('SETRANGE', key, size, header) end
  end
