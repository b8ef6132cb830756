-- include: summaries
-- Begins a summary. KEYS[1]: the session. ARGV: its id, token, ms.
-- Returns 1, or 0 while another one is made, or if the session has ended.
local session_tag = find_session(ARGV[3])
if not session_tag or being_made(session_tag) then
  return 0
end
call('HSET', session_key(session_tag), 'summarizing', ARGV[4], 'summarizing_until', now + ARGV[5])
return 1
