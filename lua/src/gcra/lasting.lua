-- Until when the state is kept in any case: where something was held when it was written, that follows it.
local lasting = state and #state == 32 and unpack_numbers('<d', state, 25) or 0
