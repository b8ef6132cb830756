-- include: streams
-- Abandons a run; the next reap ends the stream. KEYS[1]: the stream. ARGV: id, owner.
if stream_held(ARGV[3], ARGV[4]) then
  call('HDEL', KEYS[1], 'claim', 'stop')
  if call('HGET', KEYS[1], 'state') == 'running' then
    call('ZADD', RUNNING, 0, ARGV[3])
  end
end
return 1
