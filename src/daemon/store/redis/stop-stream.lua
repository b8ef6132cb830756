-- include: streams
-- Stores a request to end a run. KEYS[1]: the stream. ARGV: id, the process that need not be notified.
-- Returns 1, or 0 if the stream is not running.
if stream_state(ARGV[3]) ~= 'running' or not call('HGET', KEYS[1], 'claim') then
  return 0
end
call('HSET', KEYS[1], 'stop', 1)
call('PUBLISH', key('stream', ARGV[3], 'changes'), ARGV[4] .. ' stop')
return 1
