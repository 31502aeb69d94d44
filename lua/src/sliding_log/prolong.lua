-- After a charge: gives the key its life, to `ends`, unless an earlier entry already did.
if live == 0 or newest == now or newest - newest % slice ~= now - now % slice then
  call('PEXPIRE', key, math.ceil((ends - now) / 1000) + slack)
end
