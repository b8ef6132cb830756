-- include: sessions
-- Resets the count of a session's turns. KEYS[1]: the session that would have this id as its tag. ARGV: the current id,
-- or the id before sign-in. Returns 1, or 0 if there was no count.
local at = key('session', find_session(ARGV[3]) or ARGV[3], 'count')
local counted = alive(at)
call('DEL', at)
return counted and 1 or 0
