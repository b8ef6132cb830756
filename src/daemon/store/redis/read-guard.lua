-- include: sessions
-- Everything that verdicts depend on. KEYS[1]: the windows of the first user. ARGV: for each message the key of its
-- user, the tag of its session, the name of its message id (empty if it has none). Returns the time, then for each: the
-- verdict, if there is one; version, value and end of the user's windows; the count of turns; the end of the session.
local found = { now }
for place = 3, #ARGV, 3 do
  local seen = ARGV[place + 2] ~= '' and key('seen', ARGV[place + 2], 'facts')
  local user, count = key('user', ARGV[place], 'guard'), key('session', ARGV[place + 1], 'count')
  local session = find_session(ARGV[place + 1])
  local windows = alive(user) and call('HMGET', user, 'version', 'value') or { false, false }
  local counted = call('HMGET', count, 'turns', 'blocked', 'max', 'ends_at')
  found[#found + 1] = {
    seen and alive(seen) and call('HGET', seen, 'verdict'),
    windows[1], windows[2], windows[1] and call('PEXPIRETIME', user),
    counted[4] and tonumber(counted[4]) > now and table.concat(counted, ' '),
    session and call('HGET', session_key(session), 'expires_at'),
  }
end
return found
