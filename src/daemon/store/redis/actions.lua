-- include: pending
-- The journal. It has indexes of actions, ordered by number: of all actions, of a turn, of a person, and of a
-- platform's user.

local function action_index(kind, name)
  return key('actions-of-' .. kind, name, 'ids')
end

local ALL_ACTIONS = key('actions', nil, 'ids')

local function action_of(id)
  return call('HGETALL', action_key(id))
end

-- Adds to an index, and removes some entries whose records have expired.
local function add_to_index(at, number, id)
  for _, oldest in ipairs(call('ZRANGE', at, 0, 4)) do
    if not alive(action_key(oldest)) then
      call('ZREM', at, oldest)
    end
  end
  call('ZADD', at, number, id)
  call('PEXPIREAT', at, now + ACTIONS_RETENTION_MS)
end

-- Stores the fields of a new action: the given fields, and the fields of its state.
local function store_action(id, given, state)
  local at = action_key(id)
  local number = call('INCR', key('actions', nil, 'number'))
  call('DEL', at)
  for field, value in pairs(given) do
    call('HSET', at, field, value)
  end
  call('HSET', at, 'number', number, 'created_at', now, 'ends_at', now + ACTIONS_RETENTION_MS,
    unpack(state))
  call('PEXPIREAT', at, now + ACTIONS_RETENTION_MS)
  add_to_index(ALL_ACTIONS, number, id)
  add_to_index(action_index('turn', given.turn_key), number, id)
  if given.person then
    add_to_index(action_index('person', given.person), number, id)
  end
  if given.user then
    add_to_index(action_index('user', given.user), number, id)
  end
end

-- Stores an action that a committed turn asks the person to confirm. It replaces the pending action of the same
-- principal in the session.
local function add_pending(pending)
  for _, id in ipairs(call('SMEMBERS', pending_set('session', pending.given.session_tag))) do
    if call('HGET', action_key(id), 'principal') == pending.given.principal then
      withdraw_action(id)
    end
  end
  local state = { 'state', 'pending', 'attempt', 0 }
  if pending.given.asked_by then
    state[5], state[6] = 'expires_at', now + pending.unasked_ms
  else
    state[5], state[6], state[7], state[8] = 'expires_at', now + pending.given.answer_ms, 'asked_at', now
  end
  store_action(pending.id, pending.given, state)
  for _, set in ipairs(sets_of(pending.id)) do
    call('SADD', set, pending.id)
    call('PEXPIREAT', set, now + ACTIONS_RETENTION_MS)
  end
end

-- The pending actions of a session.
local function pending_in(session_tag)
  local found = {}
  for _, id in ipairs(call('SMEMBERS', pending_set('session', session_tag))) do
    if action_waits(id) then
      found[#found + 1] = action_of(id)
    end
  end
  return found
end

-- The actions in the index of a turn, except pending actions.
local function actions_of_turn(index)
  local found = {}
  for _, id in ipairs(call('ZRANGE', index, 0, -1)) do
    if alive(action_key(id)) and call('HGET', action_key(id), 'state') ~= 'pending' then
      found[#found + 1] = action_of(id)
    end
  end
  return found
end

-- True if the call was sent or was about to be sent, but its outcome is not known.
local function action_uncertain(id)
  local state = call('HGET', action_key(id), 'state')
  return state == 'started' or state == 'unknown'
end
