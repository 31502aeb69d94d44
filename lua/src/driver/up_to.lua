-- Decides about each key for as many callers as ARGV[i + 1] says, with the numbers in ARGV[1]: as if they came one
-- after the other, at one time. The reply about a key is a list: for how many callers, and what; then for how many of
-- those behind them, and what; until all have theirs. Callers that are admitted share the state from before the first
-- of them: each charge between it and a caller is the same. Those that are denied share the state that denied them.
local replies = {}
for i = 1, #KEYS do
  local parts, left = {}, tonumber(ARGV[i + 1])
  while left > 0 do
    local fine, reply, count = pcall(decide, KEYS[i], left)
    -- Before Redis 7 what a command raises is a text.
    if not fine and type(reply) ~= 'table' then reply = { err = reply } end
    -- What is wrong with a key is the answer to all.
    if not fine or not count then count = left end
    parts[#parts + 1] = count
    parts[#parts + 1] = reply
    left = left - count
  end
  replies[i] = parts
end
return replies
