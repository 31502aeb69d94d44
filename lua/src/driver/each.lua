-- Decides about each key for itself, all with the numbers in ARGV[1]. What is wrong with one is its own
-- answer, and keeps nobody else from theirs: an error that ended the script would leave it unknown which of
-- them were charged.
local replies = {}
for i = 1, #KEYS do
  local fine, reply = pcall(decide, KEYS[i])
  -- Before Redis 7 what a command raises is a text.
  if not fine and type(reply) ~= 'table' then reply = { err = reply } end
  replies[i] = reply
end
return replies
