-- include: sessions
-- Stores the summary that was begun. KEYS[1]: the session. ARGV: its tag, token, field of the principal, JSON.
-- Returns 1, or 0 if its time has passed or the session has ended.
local at = summaries_key(ARGV[3])
local found = call('HMGET', at, 'owner', 'until')
if not session_lives(ARGV[3]) or found[1] ~= ARGV[4] or tonumber(found[2]) <= now then
  return 0
end
call('HDEL', at, 'owner', 'until')
call('HSET', at, ARGV[5], ARGV[6])
call('PEXPIREAT', at, call('HGET', session_key(ARGV[3]), 'expires_at'))
return 1
