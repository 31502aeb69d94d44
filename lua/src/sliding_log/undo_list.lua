-- A user who may give no key a life is charged nothing.
if done ~= 1 then
  call('LTRIM', key, amount, '-1')
  error(done.err, 0)
end
