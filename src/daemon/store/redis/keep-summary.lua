-- include: summaries
-- Stores a summary that was begun. KEYS[1]: the session. ARGV: its id, token, principal, the summary.
-- Returns 1, or 0 if it is over or the session has ended.
local session_tag = find_session(ARGV[3])
if not session_tag or being_made(session_tag) ~= ARGV[4] then
  return 0
end
call('HSET', session_key(session_tag), 'summary:' .. ARGV[5], ARGV[6])
call('HDEL', session_key(session_tag), 'summarizing', 'summarizing_until')
return 1
