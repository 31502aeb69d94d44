-- One limit: the script of a plain check.
local key = KEYS[1]
local cost, capacity, forced, a, b, c, d, e = load(key, ARGV[1])
if not cost then return bad_state() end
local grant = floor(capacity / cost)
if grant > units then grant = units end
local charged = mode == 1 and grant > 0
if charged then
  commit(key, grant * cost, a, b, c, d, e)
elseif forced and mode == 1 then
  commit(key, forced, a, b, c, d, e)
end
return reply(grant, charged, a, b, c, d, e)
