-- Goes through the pairs from byte PLACE on, oldest first, to one that is not gone and with which their
-- counts come to AMOUNT. Says its slot and count (nil: there is none), its place, and the counts before it.
-- HEAD is the beginning of the value, TAIL what is to follow its end; what lies between is read in growing
-- chunks.
-- (It holds no local name from outside: so its making costs a plain check next to nothing.)
local function walk(key, head, tail, place, gone, amount)
  local unpack_numbers = struct.unpack
  local text, start, size, passed = head, 0, 88, 0
  while true do
    local is_last = #text < size
    if is_last then text = text .. tail end
    for position = place - start + 1, #text - 15, 16 do
      local slot, count = unpack_numbers('<dd', text, position)
      if slot > gone and passed + count >= amount then return slot, count, place, passed end
      place, passed = place + 16, passed + count
    end
    if is_last then return nil, 0, place, passed end
    start, size = start + size, size * 2
    text = redis.call('GETRANGE', key, start, start + size - 1)
  end
end

