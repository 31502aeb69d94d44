-- Makes a script repeatable: the first call with a request id runs it and stores its answer, later ones get that answer
-- and change nothing.
--
-- KEYS  last: the record of the request, in the slot of the others. The script is not shown it.
-- ARGV  last: fingerprint of the call (16 bytes), then the lifetime of the record in doubles: by a manual clock
--       (microseconds), and as the server counts it (milliseconds). Nor this.
-- Record: fingerprint, when it ends by a manual clock (ENDLESS without one), then the answer: 's' and a string, or 'l' and
--         strings, each after its length. What is no answer is not stored: an error, a number, which says
--         that nothing was done, and what cannot tell the window of a calendar (see `load_calendar.lua`).
--
-- Reply: that of the script; -2 where the record is of another call.
local record, request = table.remove(KEYS), table.remove(ARGV)
local stored = redis.call('GET', record)
-- One that has ended is empty while it is replaced.
if stored and stored ~= '' then
  local fingerprint = string.sub(stored, 1, 16)
  if #stored < 25 then return { err = 'BADSTATE the value at this key was not written by this limiter' } end
  local now, ends = struct.unpack('<d', ARGV[1]), struct.unpack('<d', stored, 17)
  if now < ends then
    if fingerprint ~= string.sub(request, 1, 16) then return -2 end
    if string.sub(stored, 25, 25) == 's' then return string.sub(stored, 26) end
    local answer, at = {}, 26
    while at <= #stored do answer[#answer + 1], at = struct.unpack('<I4c0', stored, at) end
    return answer
  end
end

local fingerprint, lifetime, keep = struct.unpack('<c16dd', request)
-- A write that does nothing: the server refuses it wherever it would refuse to store the answer, and then nothing has
-- been charged.
redis.call('SET', record, '', 'XX', 'PX', keep)

local function run()
  --SCRIPT
end

local answer = run()
local kind, text = 's', answer
if type(answer) == 'table' then
  if answer.err then return answer end
  kind, text = 'l', ''
  for i = 1, #answer do text = text .. struct.pack('<I4c0', #answer[i], answer[i]) end
elseif type(answer) == 'number' or #answer == 16 and struct.unpack('<d', answer) == -1 then
  return answer
end
local now = struct.unpack('<d', ARGV[1])
local ends = now < 0 and 1e300 or now + lifetime
redis.call('SET', record, struct.pack('<c16d', fingerprint, ends) .. kind .. text, 'PX', keep)
return answer
