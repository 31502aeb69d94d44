-- Gives back the cost of each limit; the driver that follows then looks at what is left. The number after
-- a limit's group is the time of the charge that is undone, or -1: then the newest is given back, whoever
-- was charged it. When the clock stepped back since, nobody knows what became of a charge: nothing is
-- touched. (`forced` is then set, and only then: refunds are told that no limit counts denied costs.)
for i = 1, #KEYS do
  local arg = ARGV[i + 1]
  local which, _, time = unpack_numbers('<ddd', arg)
  local cost, capacity, forced, a, b, c, d, e, f, g, h, k = load_of[which](KEYS[i], arg)
  if not capacity then return cost end
  local charged_at = time >= 0 and time
  if not charged_at or charged_at <= now and not forced then
    refund_of[which](KEYS[i], cost, charged_at, a, b, c, d, e, f, g, h, k)
  end
end
