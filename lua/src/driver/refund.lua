-- Gives back the cost of each limit; the driver that follows then looks at what is left.
for i = 1, #KEYS do
  local arg = ARGV[i + 1]
  local which = unpack_numbers('<d', arg)
  local cost, capacity, _, a, b, c, d, e, f, g, h = load_of[which](KEYS[i], arg)
  if not capacity then return cost end
  refund_of[which](KEYS[i], cost, a, b, c, d, e, f, g, h)
end
