call('PEXPIRE', key, ceil((ends - now) / 1000) + slack)
