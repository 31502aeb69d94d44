-- Writes the head, AMOUNT added to the current count, and the pairs unless the state is of the current slot,
-- which gave it its lifetime.
if others or tail then
  local left, pairs_text = slot * resolution + window - now, bucket_helpers(key).all(others, tail)
  call('SET', key, pack('<ddd', slot, current + amount, past) .. pairs_text, 'PX', ceil(left / 1000) + slack)
else
  call('SETRANGE', key, '8', pack('<d', current + amount))
end
