-- Writes the allotment. The server forgets it when nothing of it matters any more; to write that anew with every call
-- would take longer than all else.
local lent = ''
for at = 1, #loans, 3 do
  if loans[at] > 0 then lent = lent .. pack('<ddd', loans[at], loans[at + 1], loans[at + 2]) end
end
local keep = 2 * span
if denied_until - now > keep then keep = denied_until - now end
if contended_until - now > keep then keep = contended_until - now end
if lent ~= '' and age + useful > keep then keep = age + useful end
local lasts = ends - now
local is_lasting = lasts > keep / 2 and lasts <= 2 * keep
if not is_lasting then ends = now + keep end
local written = pack('<ddddddddddddd', begun, count, first, second, third, fourth, asked_at, denied_until, denied_cost,
  contended_until, fits_at, fresh_at, ends) .. lent
if is_lasting and state and #written == #state then
  call('SETRANGE', key, '0', written)
else
  call('SET', key, written, 'PX', math.ceil((ends - now) / 1000) + slack)
end
return answer
