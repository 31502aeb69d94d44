-- A denial that is charged is that of one caller. The last line opens what the other callers stand in.
if amount and mode == 1 then
  if grant == 0 and amount > 0 then callers = 1 end
  if grant == 1 then
    callers = 1
