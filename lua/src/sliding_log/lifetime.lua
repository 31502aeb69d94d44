-- Says `ends`, from `latest`: when the key's life ends. An entry gives the log a life to the end of its
-- sixteenth of the window, plus a window: so of many charges only the first in each sixteenth has to
-- prolong it.
local slice = window / 16
local ends = latest - latest % slice + slice + window
