-- include: sessions traces inbox
-- Stores verdicts and everything that they change, if nothing has changed since it was read, and then the messages and
-- traces that result from them. KEYS[1]: all messages. ARGV: JSON of `users`: key, version as read, new version, value,
-- expires_at; `counts`: tag, count as read, turns, blocked, max, ends_at; `sessions`: tag, end as read, new end;
-- `verdicts`: name of the message id, verdict, who wrote it; `traces`: fields; `deliveries`: lists of messages.
-- Returns 0 if something was changed in the meantime: nothing is stored. Otherwise, for each delivery, the result of
-- `enqueue`.
local changes = cjson.decode(ARGV[3])

local function count_of(session_tag)
  local found = call('HMGET', key('session', session_tag, 'count'), 'turns', 'blocked', 'max', 'ends_at')
  return found[4] and tonumber(found[4]) > now and table.concat(found, ' ') or ''
end

for _, user in ipairs(changes.users) do
  local at = key('user', user.key, 'guard')
  if (alive(at) and call('HGET', at, 'version') or '') ~= user.read then
    return 0
  end
end
for _, count in ipairs(changes.counts) do
  if count_of(count.tag) ~= count.read then
    return 0
  end
end
for _, session in ipairs(changes.sessions) do
  local found = find_session(session.tag)
  if (found and call('HGET', session_key(found), 'expires_at') or '') ~= session.read then
    return 0
  end
end
for _, seen in ipairs(changes.verdicts) do
  if alive(seen_key(seen.name)) and call('HEXISTS', seen_key(seen.name), 'verdict') == 1 then
    return 0
  end
end

for _, user in ipairs(changes.users) do
  local at = key('user', user.key, 'guard')
  call('HSET', at, 'version', user.version, 'value', user.value, 'expires_at', user.expires_at)
  call('PEXPIREAT', at, user.expires_at)
end
for _, session in ipairs(changes.sessions) do
  if session.ends_at then
    session_ends(find_session(session.tag), session.ends_at)
  end
end
for _, count in ipairs(changes.counts) do
  local at = key('session', count.tag, 'count')
  call('HSET', at, 'turns', count.turns, 'blocked', count.blocked, 'max', count.max, 'ends_at', count.ends_at)
  call('PEXPIREAT', at, count.ends_at)
end
for _, seen in ipairs(changes.verdicts) do
  note_seen(seen.name, 'verdict', seen.verdict, seen.user_id)
end
for _, fields in ipairs(changes.traces) do
  keep_trace('kept', TRACES_MAX, fields)
end
local outcomes = {}
for place, messages in ipairs(changes.deliveries) do
  outcomes[place] = enqueue(messages)
end
return outcomes
