-- Writes start and both counts, AMOUNT added to the current one. A window with a count keeps the lifetime
-- that its first count gave it: to the end of the next one.
local counted, left = current + amount, start + window - now
if counted > 0 then left = left + window end
if running and counted > 0 then
  call('SETRANGE', key, '16', pack('<d', counted))
else
  call('SET', key, pack('<ddd', start, previous, counted), 'PX', math.ceil(left / 1000) + slack)
end
