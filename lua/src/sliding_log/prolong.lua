-- After a charge: gives the key its life, to `ends`, unless an earlier entry already did.
if live == 0 or newest == now or floor(newest / slice) ~= floor(now / slice) then
  call('PEXPIRE', key, ceil((ends - now) / 1000) + slack)
end
