-- Writes the head, AMOUNT added to the current count, and the pairs unless they are those stored: then the
-- state is of the current slot, which gave it its lifetime.
if tail then
  local left, others = slot * resolution + window - now, first and call('GETRANGE', key, first, '-1') or ''
  call('SET', key, pack('<ddd', slot, current + amount, past) .. others .. tail, 'PX', math.ceil(left / 1000) + slack)
else
  call('SETRANGE', key, '8', pack('<d', current + amount))
end
