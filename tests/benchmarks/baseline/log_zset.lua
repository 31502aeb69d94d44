-- Sliding log by hand, in a sorted set: a member per check, scored by its time.
-- ARGV: limit, window (ms), now (ms; 0: the server's clock), nonce (makes the member unique)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = tonumber(ARGV[3])
if now == 0 then
  local clock = redis.call('TIME')
  now = clock[1] * 1000 + math.floor(clock[2] / 1000)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local count = redis.call('ZCARD', KEYS[1])
if count >= limit then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {0, oldest[2] + window - now}
end
redis.call('ZADD', KEYS[1], now, now .. '-' .. ARGV[4])
redis.call('PEXPIRE', KEYS[1], window)
return {1, limit - count - 1}
