-- After a charge: what was made anew has no life yet.
if is_new then call('PEXPIRE', key, lifetime) end
