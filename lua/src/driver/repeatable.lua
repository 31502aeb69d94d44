-- Makes a script repeatable: the first call with a request id runs it and stores its answer, later ones get that answer
-- and change nothing.
--
-- KEYS  last: the record of the request, in the slot of the others. The script is not shown it.
-- ARGV  last: fingerprint of the call (16 bytes), then the lifetime of the record in doubles: by the limiter's clock
--       (microseconds), and as the server counts it (milliseconds); then the terms of the limits. Nor this.
-- Record: fingerprint, when it ends (by which one ends too that was robbed of its lifetime), the
--         terms after their length, then the answer: 's' and a string, or 'l' and
--         strings, each after its length. What is no answer is not stored: an error, a number, which says
--         that nothing was done, and what cannot tell the window of a calendar (see `load_calendar.lua`).
--
-- Reply: that of the script; -2 where the record is of another call. Where the terms are others than those of the first
-- call, a list with them comes before the answer: { { terms }, answer }.
local record, request = table.remove(KEYS), table.remove(ARGV)
local stored, now = redis.call('GET', record), struct.unpack('<d', ARGV[1])
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
-- One that has ended is empty while it is replaced.
if stored and stored ~= '' then
  local fingerprint = string.sub(stored, 1, 16)
  if #stored < 29 then return { err = 'BADSTATE the value at this key was not written by this limiter' } end
  if now < struct.unpack('<d', stored, 17) then
    if fingerprint ~= string.sub(request, 1, 16) then return -2 end
    local terms, at = struct.unpack('<I4c0', stored, 25)
    local kind, answer = string.sub(stored, at, at), string.sub(stored, at + 1)
    if kind == 'l' then
      answer, at = {}, at + 1
      while at <= #stored do answer[#answer + 1], at = struct.unpack('<I4c0', stored, at) end
    end
    if terms ~= string.sub(request, 33) then return { { terms }, answer } end
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
local terms = string.sub(request, 33)
local head = struct.pack('<c16dI4', fingerprint, now + lifetime, #terms) .. terms
redis.call('SET', record, head .. kind .. text, 'PX', keep)
return answer
