        elseif has_summary then
          call('SETRANGE', key, 'STATE_SIZE', header)
