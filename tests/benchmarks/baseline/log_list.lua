-- Sliding log by hand, in a list: newest at the head, never longer than the limit.
-- ARGV: limit, window (ms), now (ms; 0: the server's clock)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = tonumber(ARGV[3])
if now == 0 then
  local clock = redis.call('TIME')
  now = clock[1] * 1000 + math.floor(clock[2] / 1000)
end
local blocking = redis.call('LINDEX', KEYS[1], limit - 1)
if blocking then
  local wait = tonumber(blocking) + window - now
  if wait > 0 then return {0, wait} end
end
local length = redis.call('LPUSH', KEYS[1], now)
if length > limit then redis.call('LTRIM', KEYS[1], 0, limit - 1) end
redis.call('PEXPIRE', KEYS[1], window)
return {1, 0}
