-- One limit, of whose reservations no lease has ended: nearly every call. (What makes tables and functions stands below,
-- and costs nothing until it is needed.) It answers with one string, which costs less than a list: where anything is held,
-- or was reserved, BESIDE, the weight that was held before and the token; then the limit's answer.
if #ARGV == 1 and (op <= PEEK or op == RESERVE) then
  local holder, key = KEYS[2], KEYS[1]
  local has_room, plain_slack, lasts, header = true, slack, 0, call('ZRANGE', holder, '0', '0')[1]
  local held, first_end, held_count, token, kept_until, swept, written_at, longest_lease = 0, 0, 0, 0, 0, now, 0, 0
  if header then
    if #header == HEADER then
      held, first_end, held_count, token, kept_until, swept, written_at, longest_lease =
        unpack_numbers('<ddI4ddddd', header, 2)
    end
    -- Else it is not ours, or should be gone, or the clock has stepped back.
    has_room = (held_count > 0 or kept_until > now) and written_at <= now
  end
  local weight, lease, longest, own_price, _, named
  if op == RESERVE then
    weight, lease, longest, group, own_price, _, named = unpack_numbers('<ddddddc25', ARGV[1], #ARGV[1] - HOLDER + 1)
    has_room = has_room and held_count < MOST_HELD and group == 0 and own_price == 0
  end
  if has_room and (first_end > now or first_end == 0) then
    local own = cost
    if held > 0 then cost = (units + held) * price end
    --LOAD
    local is_repeated = op == RESERVE and header and capacity and capacity < cost and call('ZSCORE', holder, named)
    -- What others hold is reported below; for a call that is sent again, what it did the first time.
    if capacity and not is_repeated then
      local grant, amount = 0, forced
      if capacity >= cost then
        grant = 1
        if op == CHECK then amount = own end
      end
      if amount and op ~= PEEK then
        -- What is written lives on until what is held may have been charged to it.
        if held_count > 0 and kept_until > now then
          local more = (kept_until - now) / 1000
          lasts, slack = kept_until, slack + more - more % 1 + 1
        end
        --COMMIT
        slack = plain_slack
      end
      if op ~= RESERVE or grant == 0 then
        if held == 0 then
          --REPLY
          return answer
        end
        token = 0
        --REPLY_BESIDE
        return answer
      end
      if now > token then token = now else token = token + 1 end
      -- The reply reads what `load` has found, so none of that is assigned here.
      local ends, kept_before = now + lease, kept_until
      if first_end == 0 or ends < first_end then first_end = ends end
      if ends + longest > kept_before then
        -- Rounded up, so that calls in quick succession share a lifetime.
        local slice = lease / 16
        kept_until = ends + longest
        kept_until = kept_until - kept_until % slice + slice
      end
      if lease > longest_lease then longest_lease = lease end
      local written = pack('<c1ddI4ddddd', 'h', held + weight, first_end, held_count + 1, token, kept_until, swept, now,
        longest_lease)
      local added = call('ZADD', holder, 'NX', '-inf', written, string.format('%d', -ends), named)
      if added == 2 then
        -- Not before: a set that was empty for a moment has no lifetime.
        if header then call('ZREM', holder, header) end
        if kept_until ~= kept_before or held_count == 0 then
          local life = math.ceil((kept_until - now) / 1000) + slack
          local done = redis.pcall('PEXPIRE', holder, life)
          if done ~= 1 then
            -- A user who may give no key a life leaves none without.
            if not header then call('DEL', holder) end
            error(done.err, 0)
          end
          -- Else the state was given that life when the set was.
          if kind > 0 then
            local left = call('PTTL', key)
            if left ~= -2 and left < life then call('PEXPIRE', key, life) end
          end
        end
        --REPLY_BESIDE
        return answer
      end
      -- The very call was carried out already.
      call('ZREM', holder, written)
    end
  end
end
