-- Sliding window by hand: a counter per window, the former one weighted.
-- ARGV: limit, window (ms), now (ms; 0: the server's clock)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = tonumber(ARGV[3])
if now == 0 then
  local clock = redis.call('TIME')
  now = clock[1] * 1000 + math.floor(clock[2] / 1000)
end
local index, offset = math.floor(now / window), now % window
local this_key = KEYS[1] .. ':' .. index
local counts = redis.call('MGET', this_key, KEYS[1] .. ':' .. (index - 1))
local this = tonumber(counts[1]) or 0
local former = tonumber(counts[2]) or 0
local estimate = this + former * (window - offset) / window
if estimate + 1 > limit then
  return {0, window - offset}
end
if redis.call('INCR', this_key) == 1 then
  redis.call('PEXPIRE', this_key, 2 * window)
end
return {1, math.floor(limit - estimate - 1)}
