-- Where an allotment lacks units, the call is not decided yet: nothing is charged.
local verdict, spend = allotment(key, arg)
if type(verdict) == 'table' then return verdict end
if verdict == 2 then mode = 0 end
loaded[i], grants[i] = { which, group, 1, nil, spend, verdict }, verdict == 1 and units or 0
