-- Says the grant: how many units there is room for.
local grant = 0
if capacity >= cost then grant = units > 1 and math.min(units, math.floor(capacity / cost)) or 1 end
