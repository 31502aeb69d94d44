-- After a refund: gives the key the life of LATEST, the newest entry left.
local slice = window / 16
call('PEXPIRE', key, math.ceil((latest - latest % slice + slice + window - now) / 1000) + slack)
