-- include: streams
-- Adds events to a running stream under its claim. KEYS[1]: the stream. ARGV: id, owner, id of the first event (0 if
-- there is none), name of the last event if it ends the stream, the process that need not be notified, the events.
-- Returns `added`, `lost`, or `gap` if the events do not follow the last event of the stream.
local id, first = ARGV[3], tonumber(ARGV[5])
if not stream_held(id, ARGV[4]) then
  return 'lost'
end
if not stream_continues(id, first ~= 0 and first) then
  return 'gap'
end
local events = {}
for place = 8, #ARGV do
  events[#events + 1] = ARGV[place]
end
append_events(id, events, ARGV[6] ~= '' and ARGV[6], ARGV[7])
return 'added'
