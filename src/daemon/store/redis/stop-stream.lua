-- include: streams
-- Stores the request that a run ends. KEYS[1]: the stream. ARGV: id, who need not be woken.
-- Returns 1, or 0 if it does not run.
if stream_state(ARGV[3]) ~= 'running' or not call('HGET', KEYS[1], 'claim') then
  return 0
end
call('HSET', KEYS[1], 'stop', 1)
call('PUBLISH', key('stream', ARGV[3], 'changes'), ARGV[4] .. ' stop')
return 1
