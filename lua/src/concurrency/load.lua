-- Concurrency: what is in flight at once. Nothing is charged; KEY holds what is held, as `holdings.lua` states.
--
-- Numbers: cost (with what is held already), limit
-- Reply: the end of the lease by which the cost fits (0 when it does already, or never), the end of the last one
local capacity, forced = limit, nil
local last = call('ZREVRANGEBYSCORE', key, LATEST, '(' .. string.format('%.0f', now), 'WITHSCORES', 'LIMIT', '0', '1')
local enough_at, last_at = 0, tonumber(last[2] or 0)
if cost > limit then enough_at = frees_at(key, cost - limit) end
