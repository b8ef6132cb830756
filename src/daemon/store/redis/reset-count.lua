-- include: sessions
-- Counts the turns of a session from 0 again. KEYS[1]: the session whose tag the id would be. ARGV: id, now or before
-- sign-in. Returns 1, or 0 if none were counted.
local at = key('session', find_session(ARGV[3]) or ARGV[3], 'count')
local counted = alive(at)
call('DEL', at)
return counted and 1 or 0
