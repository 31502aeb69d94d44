-- What both kinds of fixed window do once the window is known.
local function commit(key, amount, start, count, window)
  call('SET', key, pack('<dd', start, count + amount), 'PX', ttl(start + window - now))
end

local function reply(grant, _, start, count)
  return pack('<dddd', grant, now, start, count)
end
