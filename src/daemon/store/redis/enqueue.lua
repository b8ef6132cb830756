-- include: inbox
-- Stores a delivery. KEYS[1]: all messages. ARGV: the messages as JSON.
-- Returns `kept` or `repeated` for each; null if the inbox is full, in which case none is stored.
return enqueue(cjson.decode(ARGV[3]))
