-- include: actions
-- Actions that were sent, newest first. KEYS[1]: an index. ARGV: how many newer actions to skip, how many to examine,
-- the maximum number to return, JSON of the filter: `session`, `since`, `nobodys`. Returns the time, how many were
-- examined, then the fields of each that was found.
local from, limit, filter = tonumber(ARGV[3]), tonumber(ARGV[5]), cjson.decode(ARGV[6])
local ids = call('ZREVRANGE', KEYS[1], from, from + tonumber(ARGV[4]) - 1)
local found = { now, #ids }
for _, id in ipairs(ids) do
  if #found >= limit + 2 then
    break
  end
  local at = action_key(id)
  local fields = call('HMGET', at, 'started_at', 'session_tag', 'session_id', 'person')
  if fields[1] and alive(at) and tonumber(fields[1]) >= filter.since
    and (not filter.session or filter.session == fields[2] or filter.session == fields[3])
    and not (filter.nobodys and fields[4]) then
    found[#found + 1] = action_of(id)
  end
end
return found
