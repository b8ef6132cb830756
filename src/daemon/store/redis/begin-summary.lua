-- include: sessions
-- Begins a summary. KEYS[1]: the session. ARGV: tag of the session, token of the summary, how long the summary may take
-- in ms. Returns 1, or 0 while another summary is being made or if the session has ended.
local at = summaries_key(ARGV[3])
local ends = call('HGET', at, 'until')
if not session_lives(ARGV[3]) or (ends and tonumber(ends) > now) then
  return 0
end
call('HSET', at, 'owner', ARGV[4], 'until', now + tonumber(ARGV[5]))
call('PEXPIREAT', at, call('HGET', session_key(ARGV[3]), 'expires_at'))
return 1
