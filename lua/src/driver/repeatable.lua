-- Makes a script repeatable: the first call with a request id runs it and stores its answer, later ones are answered with
-- what is stored and change nothing.
--
-- KEYS  last: the record of the request, in the slot of the others. The script is not shown it.
-- ARGV  last: the head of the record; before it, how long the server keeps the record: milliseconds, as text, since a number
--       would be printed for each command that takes it. The script is shown neither.
-- Record: the head, then the answer: 's' and a string, or 'l' and strings, each after its length.
-- Head: 'once', when the record ends by a manual clock (a double; beyond all times by the server's, whose own lifetime of the
--       key ends it), how long that was to be in microseconds, then what only the caller reads: which call it is, and on what terms.
-- What is no answer is not stored: an error, a number, which says that nothing was done, and what cannot tell the window of
-- a calendar (see `load_calendar.lua`).
--
-- Reply: that of the script, or the record. No answer begins as a record does: it begins with a double that is a small whole
-- number, whose first bytes are zero.
local record, head, keep = KEYS[#KEYS], ARGV[#ARGV], ARGV[#ARGV - 1]
local stored = redis.call('GET', record)
if stored then
  local mark, ends, length
  if #stored >= 20 then mark, ends, length = struct.unpack('<c4dd', stored) end
  if mark ~= 'once' then return { err = 'BADSTATE the value at this key was not written by this limiter' } end
  local now = struct.unpack('<d', ARGV[1])
  if ends > 1e300 or now < ends then
    local left, is_late = redis.call('PTTL', record), false
    if ends > 1e300 then
      is_late = left * 1000 > length
      if is_late then keep = string.format('%d', math.ceil(length / 1000)) end
    elseif ends > now + length then
      stored, is_late = 'once' .. struct.pack('<d', now + length) .. string.sub(stored, 13), true
    end
    -- One that was robbed of its lifetime gets another, and one that a step of the clock back made longer its own.
    if left < 0 or is_late then redis.call('SET', record, stored, 'PX', keep) end
    return stored
  end
  redis.call('DEL', record)
end

-- A write that does nothing: the server refuses it wherever it would refuse to store the answer, and then nothing has
-- been charged.
redis.call('SET', record, '', 'XX')

local function run()
  --SCRIPT
end

KEYS[#KEYS], ARGV[#ARGV], ARGV[#ARGV - 1] = nil, nil, nil
local answer = run()
local kind, text = 's', answer
if type(answer) == 'table' then
  if answer.err then return answer end
  kind, text = 'l', ''
  for i = 1, #answer do text = text .. struct.pack('<I4c0', #answer[i], answer[i]) end
elseif type(answer) == 'number' or #answer == 16 and struct.unpack('<d', answer) == -1 then
  return answer
end
redis.call('SET', record, head .. kind .. text, 'PX', keep)
return answer
