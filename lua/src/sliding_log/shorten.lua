-- After a refund: gives the key the life, to `ends`, of the newest entry left.
call('PEXPIRE', key, math.ceil((ends - now) / 1000) + slack)
