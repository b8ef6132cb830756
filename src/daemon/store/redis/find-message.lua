-- include: inbox
-- Finds a message. KEYS[1]: the names of all messages. ARGV: id. Returns the fields of the message, or null.
local queue = queue_of(ARGV[3])
return queue and message_of(queue, ARGV[3])
