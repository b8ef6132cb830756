-- include: streams
-- The events after a given event; nil if there is no such stream. KEYS[1]: the stream. ARGV: id of the stream, id of that event. Events are numbered
-- from 1.
if not stream_state(ARGV[3]) then
  return false
end
return call('LRANGE', key('stream', ARGV[3], 'events'), ARGV[4], -1)
