-- Actions that are waiting to be confirmed. An action is a hash. The ids of waiting actions are in three sets: of their
-- session, of their platform's user, and of the inbox message whose reply asks the question.

local function action_key(id)
  return key('action', id, 'record')
end

local function pending_set(kind, name)
  return key('pending-' .. kind, name, 'ids')
end

-- Whether the action is waiting and has not expired.
local function action_waits(id)
  local at = action_key(id)
  local found = call('HMGET', at, 'state', 'expires_at')
  return found[1] == 'pending' and tonumber(found[2]) > now and alive(at)
end

-- The sets that contain an action while it is waiting.
local function sets_of(id)
  local found = call('HMGET', action_key(id), 'session_tag', 'user', 'asked_by')
  return { pending_set('session', found[1] or ''), pending_set('user', found[2] or ''),
    pending_set('message', found[3] or '') }
end

local function end_waiting(id)
  for _, set in ipairs(sets_of(id)) do
    call('SREM', set, id)
  end
end

local function withdraw_action(id)
  if action_waits(id) then
    call('HSET', action_key(id), 'state', 'withdrawn', 'finished_at', now)
  end
  end_waiting(id)
end

local function withdraw_session(session_tag)
  for _, id in ipairs(call('SMEMBERS', pending_set('session', session_tag))) do
    withdraw_action(id)
  end
end

-- Records that the reply of a message was sent, including the questions at its end.
local function note_asked(message)
  for _, id in ipairs(call('SMEMBERS', pending_set('message', message))) do
    local at = action_key(id)
    if action_waits(id) and call('HEXISTS', at, 'asked_at') == 0 then
      call('HSET', at, 'asked_at', now, 'expires_at', now + call('HGET', at, 'answer_ms'))
    end
  end
end

-- Withdraws the actions whose questions are in the reply of a message: the reply will not be sent, so nobody can
-- answer.
local function drop_unasked(message)
  for _, id in ipairs(call('SMEMBERS', pending_set('message', message))) do
    if call('HEXISTS', action_key(id), 'asked_at') == 0 then
      withdraw_action(id)
    end
  end
end
