-- include: sessions
-- Replaces what is stored of a session besides its times. KEYS[1]: the session. ARGV: tag, found, new.
-- Returns 1, or 0 if it is not what was found any more.
if not session_lives(ARGV[3]) or call('HGET', KEYS[1], 'doc') ~= ARGV[4] then
  return 0
end
call('HSET', KEYS[1], 'doc', ARGV[5])
return 1
