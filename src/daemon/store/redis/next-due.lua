-- include: inbox
-- When the first unclaimed queue is due, and whether one waits that a process died on. KEYS[1]: the places of all queues.
-- ARGV: JSON of what is asked: `kind`: `run`|`send`; `platforms`. Returns for each the time, or null; 1 or 0.
local function look(asked)
  local fresh, died = places_of(asked.kind, asked.platforms)
  local first, interrupted = nil, 0
  for _, places in ipairs({ fresh, died }) do
    for _, place in ipairs(places) do
      local due = call('ZRANGE', place, 0, 0, 'WITHSCORES')[2]
      if due and (not first or tonumber(due) < first) then
        first = tonumber(due)
      end
      if due and places == died then
        interrupted = 1
      end
    end
  end
  return { first or false, interrupted }
end

local all = {}
for place, asked in ipairs(cjson.decode(ARGV[3])) do
  all[place] = look(asked)
end
return all
