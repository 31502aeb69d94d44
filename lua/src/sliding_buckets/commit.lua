-- Writes the head, AMOUNT added to the current count, and `others` if they were loaded. Without them the
-- state is of the current slot, which gave it its lifetime.
if others then
  local left = slot * resolution + window - now
  call('SET', key, pack('<ddd', slot, current + amount, past) .. others, 'PX', ceil(left / 1000) + slack)
else
  call('SETRANGE', key, '8', pack('<d', current + amount))
end
