-- include: sessions erased
-- Deletes a session with everything that ends with it, and the claim of its run, so that the run can store nothing.
-- KEYS[1]: the session. ARGV: tag, id.
end_session(ARGV[3])
note_erased(ARGV[3])
note_erased(ARGV[4])
call('DEL', key('session', ARGV[3], 'claim'))
return 1
