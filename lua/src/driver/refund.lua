-- Gives back the cost of each limit; the driver that follows then looks at what is left. The number after
-- a limit's group is the time of the charge that is undone, or -1: then the newest is given back, whoever
-- was charged it. When the clock stepped back since, the limiter cannot know whether a charge still counts: nothing is
-- touched. (`forced` is then set, and only then: for refunds no limit counts denied costs.)
-- All limits are loaded before one is touched, for a fragment may end the script.
local loaded = {}
for i = 1, #KEYS do
  local arg = ARGV[i + 1]
  local which, _, time = unpack_numbers('<ddd', arg)
  local found = { load_of[which](KEYS[i], arg) }
  if not found[2] then return found[1] end
  found.which, found.charged_at, loaded[i] = which, time >= 0 and time, found
end
for i = 1, #KEYS do
  local found = loaded[i]
  local charged_at = found.charged_at
  if not charged_at or charged_at <= now and not found[3] then
    refund_of[found.which](KEYS[i], found[1], charged_at, unpack(found, 4, 12))
  end
end
