        local saved = state and redis.pcall('SETRANGE', key, 'STATE_SIZE', written)
        if type(saved) == 'table' then
          -- A user without the right to write it holds nothing.
          if header then call('ZADD', holder, '-inf', header) end
          call('ZREM', holder, written, named)
          error(saved.err, 0)
        end
        is_alive = is_alive and (has_summary or not state)
