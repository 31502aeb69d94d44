-- Whether all of it is over: then it is still there because it was robbed of its lifetime.
local is_over = key_record and blocked_until <= now and own_until <= now
  and not (growth > 1 and grown > 0 and now < blocked_until + longest_block)
