-- include: claims keys inbox streams
-- The parts of a commit that have separate claims: `reply`: queue, id, owner, text, question; `failed`: queue, id,
-- owner, the state for which its changes were made, changes; `answer`: key, owner, fingerprint, answer, ttl_ms;
-- `events`: id, owner, first, ending, list.

-- Returns nil if the parts can be stored. Otherwise returns why not: `lost`, `gap`, or the fields of the failed message
-- if its state is different.
local function parts_refused(parts)
  local reply, failed, answer, events = parts.reply, parts.failed, parts.answer, parts.events
  if (reply and not message_held(reply.queue, reply.id, reply.owner))
    or (failed and not message_held(failed.queue, failed.id, failed.owner))
    or (answer and not claim_held(key_claim(answer.key), answer.owner))
    or (events and not stream_held(events.id, events.owner)) then
    return 'lost'
  end
  if events and not stream_continues(events.id, events.first) then
    return 'gap'
  end
  if failed and not reply and call('HGET', message_key(failed.queue, failed.id), 'state') ~= failed.state then
    return message_of(failed.queue, failed.id)
  end
  return nil
end

-- Stores the parts. `origin`: the process that need not be notified.
local function store_parts(parts, origin)
  local reply, failed, answer, events = parts.reply, parts.failed, parts.answer, parts.events
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
  if events then
    append_events(events.id, events.list, events.ending, origin)
  end
end
