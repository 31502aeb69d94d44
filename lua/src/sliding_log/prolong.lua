if live == 0 or newest == now or floor(newest / slice) ~= floor(now / slice) then
  call('PEXPIRE', key, ceil((ends - now) / 1000) + slack)
end
