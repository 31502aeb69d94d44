-- One allotment in a call of several items: what `decide.lua` says of it, and a function that carries it out once it is
-- known what the others say. Of a call for which the region in charge of another one has yet to be asked (IS_OPEN), it
-- takes note only where units are lacking: the call is sent again.
local function allotment(key, arg)
  --LOAD
  return verdict, function(is_refused, is_open)
    if is_open and verdict ~= ELSEWHERE then return pack('<dddddd', verdict, now, left, 0, 0, 0) end
    --SPEND
  end
end
