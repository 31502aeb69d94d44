-- Writes the debt, AMOUNT added, as of now; a charge at another interval rescales it, so that the units stay. The
-- key lives until it has leaked away, and on to the end of a slice of time: a power of two, some twentieth of the
-- debt. So charges in quick succession share the life that the first of them gave: to write no more than the
-- value costs less than half as much.
local owed, counted = debt + amount, interval
if amount > 0 and interval ~= unit then owed, counted = debt / interval * unit + amount, unit end
local ends, ended = now + owed, at + kept
-- What a debt is divided by what math.frexp says of it is the power of two above it.
local slice = owed / math.frexp(owed) / 32
if kept >= 16 * slice and kept < 32 * slice and ended - ended % slice == ends - ends % slice then
  call('SETRANGE', key, '0', pack('<ddd', owed, now, counted))
else
  local left = ends - ends % slice + slice - now
  call('SET', key, pack('<ddd', owed, now, counted), 'PX', math.ceil(left / 1000) + slack)
end
