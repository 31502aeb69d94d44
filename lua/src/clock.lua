-- The time: the server's unless the caller brought one.
--
-- A lifetime is ceil(microseconds / 1000) + slack: the server counts whole milliseconds from the start
-- of the script. Under a manual clock keys live a minute longer, for their real time passes on its own.
local slack = 60000
if now < 0 then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1
end
