-- On which terms this region decides by a limit that holds over all regions: its own processes state them, with a lifetime
-- in milliseconds; those of other regions look them up, without arguments.
if ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return redis.call('GET', KEYS[1])
