-- include: inbox
-- Retries a message. KEYS[1]: the names of all messages. ARGV: id. Returns 1, or 0 if the message has not failed and is
-- not waiting.
local queue = queue_of(ARGV[3])
return queue and retry_message(queue, ARGV[3]) and 1 or 0
