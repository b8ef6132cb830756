-- include: streams
-- Deletes a stream with its events and its claim. KEYS[1]: the stream. ARGV: id.
local id = ARGV[3]
call('ZREM', RUNNING, id)
call('DEL', KEYS[1], key('stream', id, 'events'))
return 1
