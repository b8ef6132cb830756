-- include: sessions actions
-- The pending actions of a session. KEYS[1]: their ids. ARGV: tag of the session. Returns the time, then the fields of
-- each.
return { now, unpack(find_session(ARGV[3]) and pending_in(ARGV[3]) or {}) }
