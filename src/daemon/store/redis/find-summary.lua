-- include: summaries
-- KEYS[1]: the session. ARGV: its id, principal. Returns the summary, or null.
local session_tag = find_session(ARGV[3])
return session_tag and call('HGET', session_key(session_tag), 'summary:' .. ARGV[4])
