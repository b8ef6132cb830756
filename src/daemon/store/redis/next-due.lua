-- include: inbox
-- When the first unclaimed queue is due, and whether one waits that a process died on. KEYS[1]: the places of all queues.
-- ARGV: `run`|`send`, platforms as JSON. Returns the time, or null; 1 or 0.
local fresh, died = places_of(ARGV[3], ARGV[4])
local first, interrupted = nil, 0
local function look(place)
  local due = call('ZRANGE', place, 0, 0, 'WITHSCORES')[2]
  if due and (not first or tonumber(due) < first) then
    first = tonumber(due)
  end
  return due
end
for _, place in ipairs(fresh) do
  look(place)
end
for _, place in ipairs(died) do
  if look(place) then
    interrupted = 1
  end
end
return { first or false, interrupted }
