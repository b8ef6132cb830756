-- include: claims sessions traces keys inbox streams actions
-- Stores everything that a turn changes, or nothing. KEYS[1]: the claim of the session. ARGV: tag, owner, the process
-- that need not be notified, JSON of the changes: `session` with its `tag`; `turn` and `ttl_ms`; `trace`: fields;
-- `reply`: queue, id, owner, text, question; `failed`: queue, id, owner, the state that its changes were made from,
-- changes; `answer`: key, owner, fingerprint, answer, ttl_ms; `pending`: id, fields, unasked_ms; `events`: id, owner,
-- first, ending, list; `ends_claim`.
-- Returns `committed`, `session_ended`, `lost`; `mismatch`, `taken`, `gap` for a defect of the caller; or the fields of
-- the failed message if its state is different.
local session_tag, owner, origin, changes = ARGV[3], ARGV[4], ARGV[5], cjson.decode(ARGV[6])
local reply, failed, answer, events = changes.reply, changes.failed, changes.answer, changes.events

if not claim_held(KEYS[1], owner)
  or (reply and not message_held(reply.queue, reply.id, reply.owner))
  or (failed and not message_held(failed.queue, failed.id, failed.owner))
  or (answer and not claim_held(key_claim(answer.key), answer.owner))
  or (events and not stream_held(events.id, events.owner)) then
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
if events and not stream_continues(events.id, events.first) then
  return 'gap'
end
if failed and not reply and call('HGET', message_key(failed.queue, failed.id), 'state') ~= failed.state then
  return message_of(failed.queue, failed.id)
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
if reply then
  store_reply(reply.queue, reply.id, reply.text, reply.question)
end
if failed then
  end_message_claim(failed.queue)
  change_message(failed.queue, failed.id, failed.changes)
end
if answer then
  store_answer(answer.key, answer.fingerprint, answer.answer, answer.ttl_ms)
end
if changes.pending and outcome == 'committed' then
  add_pending(changes.pending)
end
if events then
  append_events(events.id, events.list, events.ending, origin)
end
if changes.ends_claim then
  call('DEL', KEYS[1])
end
return outcome
