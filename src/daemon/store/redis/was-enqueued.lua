-- include: inbox
-- Checks whether a message was stored. KEYS[1]: the facts about a message id of a platform. ARGV: its name. Returns 1
-- if the message was stored, else 0.
return was_enqueued(ARGV[3]) and 1 or 0
