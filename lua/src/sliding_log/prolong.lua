-- After a charge: gives the key its life, unless an earlier entry already did. An entry gives the log a life to the
-- end of its sixteenth of the window, plus a window: so of many charges only the first in each sixteenth has to
-- prolong it. Says `done`: 1, or why that was refused. (Not before the charge: what has written anything is no longer
-- refused for want of memory.)
local slice, done = window / 16, 1
if live == 0 or newest == now or newest - newest % slice ~= now - now % slice then
  done = redis.pcall('PEXPIRE', key, math.ceil((slice - now % slice + window) / 1000) + slack)
end
