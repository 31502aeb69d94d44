-- Ends a reservation and charges what was used, or renews its lease. Answers 1 when it was held wherever it
-- should be, 0 when it was not, -1 when a limit would be overdrawn by more than 2^53: then nothing is done.
--
-- First one limit, whose reservation is held, of which no lease has ended, and which has room for all: nearly every call.
if #ARGV == 1 and op == COMMIT then
  local holder, key = KEYS[2], KEYS[1]
  local header, first_end = call('ZRANGE', holder, '0', '0')[1], 0
  local held, held_count, token, kept_until, swept, written_at, longest_lease
  if header and #header == HEADER then
    held, first_end, held_count, token, kept_until, swept, written_at, longest_lease =
      unpack_numbers('<ddI4ddddd', header, 2)
  end
  local weight, lease, _, _, own_price, timeout, named, call_id =
    unpack_numbers('<ddddddc25c16', ARGV[1], #ARGV[1] - HOLDER + 1)
  if first_end > now and written_at <= now and own_price == 0 then
    local amount, grant = extra, 0
    --LOAD
    -- What is still held will be charged as well: only where the measure is time does that prolong anything.
    if capacity and amount + (kind == 1 and (held - weight) * price or 0) <= capacity then
      local removed, is_ended, was_emptied, is_alive = call('ZREM', holder, header, named), nil, nil, nil
      if removed == 2 then
        local plain_slack, lasts, kept_before = slack, 0, kept_until
        -- What is written lives on until what is still held may have been charged to it.
        if held_count > 1 and kept_until > now then
          local more = (kept_until - now) / 1000
          lasts, slack = kept_until, slack + more - more % 1 + 1
        end
        local is_swept = now - swept > timeout
        if is_swept then swept = now end
        -- Without a reservation the token is kept for a lease.
        if held_count == 1 then kept_until, first_end, longest_lease = now + lease, 0, 0 end
        if now + timeout > kept_until then kept_until = now + timeout end
        header = pack('<c1ddI4ddddd', 'h', held - weight, first_end, held_count - 1, token, kept_until, swept, now,
          longest_lease)
        if amount > 0 or forced then
          --COMMIT
        end
        slack = plain_slack
        if is_swept then call('ZREMRANGEBYSCORE', holder, MARKS - math.floor(now / 1000), MARKS) end
        call('ZADD', holder, '-inf', header, string.format('%d', MARKS - math.ceil((now + timeout) / 1000)), 'e' .. call_id)
        is_ended, was_emptied, is_alive = true, held_count == 1, held_count > 1 and kept_until == kept_before
      else
        -- It is not held.
        call('ZADD', holder, '-inf', header)
        was_emptied = held_count == 0
      end
      -- A set that was empty for a moment has no lifetime. A user who may give it none leaves none of that kind.
      if not is_alive then
        local done = redis.pcall('PEXPIRE', holder, math.ceil((kept_until - now) / 1000) + slack)
        if done ~= 1 then
          if was_emptied then call('DEL', holder) end
          error(done.err, 0)
        end
      end
      if is_ended then return 1 end
    end
  end
end
