-- include: sessions
-- The last turns of a session, oldest first. KEYS[1]: the session that would have this id as its tag. ARGV: id, how
-- many (0: all).
local found = find_session(ARGV[3])
if not found then
  return {}
end
return call('LRANGE', key('session', found, 'turns'), ARGV[4] == '0' and '0' or '-' .. ARGV[4], -1)
