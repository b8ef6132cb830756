-- include: sessions
-- Replaces the stored document of a session, which does not include its times. KEYS[1]: the session. ARGV: tag, the
-- document as it was read, the new document. Returns 1, or 0 if the document has changed.
if not session_lives(ARGV[3]) or call('HGET', KEYS[1], 'doc') ~= ARGV[4] then
  return 0
end
call('HSET', KEYS[1], 'doc', ARGV[5])
return 1
