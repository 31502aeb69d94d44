-- Writes start and count, AMOUNT added. A window that is running keeps the lifetime it was given when it
-- was opened.
if running then
  call('SETRANGE', key, '8', pack('<d', count + amount))
else
  call('SET', key, pack('<dd', start, count + amount), 'PX', math.ceil((start + window - now) / 1000) + slack)
end
