-- include: claims sessions traces actions parts
-- Stores everything that a turn changes, or nothing. KEYS[1]: the claim of the session. ARGV: tag, owner, the process
-- that need not be notified, JSON of the changes: `session` with its `tag`; `turn` and `ttl_ms`; `trace`: fields;
-- `pending`: id, fields, unasked_ms; `ends_claim`; and the parts of parts.lua.
-- Returns `committed`, `session_ended`, `lost`; `mismatch`, `taken`, `gap` for a defect of the caller; or the fields of
-- the failed message if its state is different.
local session_tag, owner, origin, changes = ARGV[3], ARGV[4], ARGV[5], cjson.decode(ARGV[6])
local refused = parts_refused(changes)

if not claim_held(KEYS[1], owner) or refused == 'lost' then
  return 'lost'
end
if changes.session then
  if changes.session.tag ~= session_tag then
    return 'mismatch'
  end
  if not session_ids_free(changes.session) then
    return 'taken'
  end
end
if refused then
  return refused
end

if changes.session then
  create_session(session_tag, changes.session)
end
local outcome = 'committed'
if changes.turn then
  local found = find_session(session_tag)
  if found then
    local ends = now + changes.turn.ttl_ms
    call('RPUSH', key('session', found, 'turns'), changes.turn.doc)
    call('HINCRBY', session_key(found), 'turns', 1)
    call('HSET', session_key(found), 'last_active_at', now)
    session_ends(found, ends)
    local count = key('session', session_tag, 'count')
    if alive(count) then
      call('HSET', count, 'ends_at', ends)
      call('PEXPIREAT', count, ends)
    end
  else
    outcome = 'session_ended'
  end
end
keep_trace('kept', TRACES_MAX, changes.trace)
store_parts(changes, origin)
if changes.pending and outcome == 'committed' then
  add_pending(changes.pending)
end
if changes.ends_claim then
  call('DEL', KEYS[1])
end
return outcome
