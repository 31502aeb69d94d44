-- A user who may give no key a life is charged nothing.
if done ~= 1 then
  if amount > 0 then call('ZREMRANGEBYRANK', key, -amount, '-1') end
  error(done.err, 0)
end
