-- include: streams
-- Replaces the token of a stream. KEYS[1]: the stream. ARGV: id, the token as it was read, the new token. Returns 1, or
-- 0 if the token has changed.
if not stream_state(ARGV[3]) or call('HGET', KEYS[1], 'token') ~= ARGV[4] then
  return 0
end
call('HSET', KEYS[1], 'token', ARGV[5])
return 1
