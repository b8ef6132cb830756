-- include: sessions
-- KEYS[1]: the session whose tag the id would be. ARGV: id, now or before sign-in. Returns its fields, or null.
local found = find_session(ARGV[3])
return found and session_of(found)
