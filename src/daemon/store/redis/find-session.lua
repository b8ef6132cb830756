-- include: sessions
-- Finds a session. KEYS[1]: the session that would have this id as its tag. ARGV: the current id, or the id before
-- sign-in. Returns the fields of the session, or null.
local found = find_session(ARGV[3])
return found and session_of(found)
