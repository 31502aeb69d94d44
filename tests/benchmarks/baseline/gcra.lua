-- GCRA by hand: the key holds the theoretical arrival time, in microseconds.
-- ARGV: limit, window (ms), now (ms; 0: the server's clock)
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2]) * 1000
local now = tonumber(ARGV[3]) * 1000
if now == 0 then
  local clock = redis.call('TIME')
  now = clock[1] * 1000000 + clock[2]
end
local interval = window / limit
local arrival = tonumber(redis.call('GET', KEYS[1]) or '0')
if arrival < now then arrival = now end
arrival = arrival + interval
local ahead = arrival - now
if ahead > window then
  return {0, math.ceil((ahead - window) / 1000)}
end
redis.call('SET', KEYS[1], string.format('%.0f', arrival), 'PX', math.ceil(ahead / 1000))
return {1, math.floor((window - ahead) / interval)}
