-- include: inbox
-- Raises the number of sent parts of a text. KEYS[1]: the names of all messages. ARGV: id, parts (0 to read only).
-- Returns the number; -1 if there is no such message.
local queue = queue_of(ARGV[3])
if not queue then
  return -1
end
local at = message_key(queue, ARGV[3])
local parts = math.max(tonumber(call('HGET', at, 'parts_sent')), tonumber(ARGV[4]))
if tonumber(ARGV[4]) > 0 then
  call('HSET', at, 'parts_sent', parts)
end
return parts
