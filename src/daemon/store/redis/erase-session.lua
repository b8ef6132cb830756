-- include: sessions
-- Deletes a session with everything that ends with it, and the claim of a run: what that run would store is refused.
-- KEYS[1]: the session. ARGV: tag.
end_session(ARGV[3])
call('DEL', key('session', ARGV[3], 'claim'))
return 1
