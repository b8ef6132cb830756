-- include: sessions
-- Deletes turns of a session that stays, and its summaries. KEYS[1]: the session. ARGV: tag, what is stored of it, the
-- same without what ties it to a person, then the turns. Returns 1, or 0 if it was changed since it was read.
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
