-- include: streams
-- Begins the run of a waiting stream and deletes its token. KEYS[1]: the stream. ARGV: id, owner of the claim, the
-- person that the stream belongs to from now on, the only person who may read it (each empty if there is none), the
-- process that need not be notified, the first events. Returns 1, or 0 if the stream is not waiting.
local id = ARGV[3]
if stream_state(id) ~= 'waiting' then
  return 0
end
call('HSET', KEYS[1], 'state', 'running')
call('HDEL', KEYS[1], 'token')
if ARGV[5] ~= '' then
  call('HSET', KEYS[1], 'owner', ARGV[5])
end
if ARGV[6] ~= '' then
  call('HSET', KEYS[1], 'reader', ARGV[6])
end
call('PERSIST', KEYS[1])
local name = call('HGET', KEYS[1], 'key')
if name then
  call('PERSIST', key('stream-key', name, 'stream'))
end
claim_stream(id, ARGV[4])
local events = {}
for place = 8, #ARGV do
  events[#events + 1] = ARGV[place]
end
append_events(id, events, false, ARGV[7])
return 1
