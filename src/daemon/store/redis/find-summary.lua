-- include: sessions
-- Finds a summary. KEYS[1]: the session. ARGV: its tag, field of the principal. Returns the summary as JSON, or nil if
-- there is none.
if not session_lives(ARGV[3]) then
  return false
end
return call('HGET', summaries_key(ARGV[3]), ARGV[4])
