-- Concurrency: what is in flight at once. Nothing is charged; KEY holds what is held, as `holdings.lua` states.
--
-- Numbers: cost (with what is held already), limit
-- Reply: the end of the lease by which the cost fits (0 when it does already, or never), the end of the last one
local capacity, forced = limit, nil
local enough_at, last_at = 0, last_end(key)
if cost > limit then enough_at = frees_at(key, cost - limit) end
