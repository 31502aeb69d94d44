  -- The state is followed by the summary, if something was held when it was written: the same that the set begins with.
  local state = call('GET', key)
  if state and #state == STATE_SIZE + HEADER then
    held, first_end, held_count, token, kept_until, swept = unpack_numbers('<dddddd', state, STATE_SIZE + 2)
    has_summary = kept_until > now
  end
