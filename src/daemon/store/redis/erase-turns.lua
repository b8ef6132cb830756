-- include: sessions
-- Deletes turns of a session, and its summaries, but not the session. KEYS[1]: the session. ARGV: tag, the document of
-- the session as it was read, the document without the data that ties it to a person, then the turns. Returns 1, or 0
-- if the session has changed since it was read.
local session_tag = ARGV[3]
if call('HGET', KEYS[1], 'doc') ~= ARGV[4] then
  return 0
end
call('HSET', KEYS[1], 'doc', ARGV[5])
for place = 6, #ARGV do
  call('LREM', key('session', session_tag, 'turns'), 1, ARGV[place])
end
call('DEL', summaries_key(session_tag))
return 1
