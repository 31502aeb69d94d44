-- Before a charge: gives the key its life. An entry gives the log a life to the end of its sixteenth of the window,
-- plus a window: so of many charges only the first in each sixteenth has to prolong it. Of a key that is not there
-- the server forgets it at once, but a user who may not say it is refused before anything is charged.
local slice = window / 16
local lifetime = math.ceil((slice - now % slice + window) / 1000) + slack
local is_new = live == 0 or newest == now
if is_new or newest - newest % slice ~= now - now % slice then call('PEXPIRE', key, lifetime) end
