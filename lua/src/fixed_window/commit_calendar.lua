-- Writes the number of the window and the count, AMOUNT added. A window that is running keeps the lifetime it was
-- given when it was opened.
if running then
  call('SETRANGE', key, '8', pack('<d', count + amount))
else
  call('SET', key, pack('<dd', window, count + amount), 'PX', math.ceil((ending - now) / 1000) + slack)
end
