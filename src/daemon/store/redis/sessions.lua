-- include: pending
-- A session is a hash, named by its permanent tag, and a list of its turns. A pointer leads from the id after sign-in
-- to the tag.

local function session_key(session_tag)
  return key('session', session_tag, 'state')
end

local function session_lives(session_tag)
  local ends = call('HGET', session_key(session_tag), 'expires_at')
  return ends and tonumber(ends) > now
end

-- The tag of the live session that has this id, or had it before sign-in; nil if there is none.
local function find_session(name)
  if session_lives(name) then
    return name
  end
  local pointed = call('GET', key('session', name, 'name'))
  if pointed and session_lives(pointed) and call('HGET', session_key(pointed), 'session_id') == name then
    return pointed
  end
  return nil
end

-- The key of the summaries: a hash with a field for each principal, and `owner` and `until` of the summary that is
-- being made.
local function summaries_key(session_tag)
  return key('session', session_tag, 'summaries')
end

-- Sets the end of a session, and of its turns, its summaries and its pointer.
local function session_ends(session_tag, ends)
  local at = session_key(session_tag)
  call('HSET', at, 'expires_at', ends)
  call('PEXPIREAT', at, ends)
  call('PEXPIREAT', key('session', session_tag, 'turns'), ends)
  call('PEXPIREAT', summaries_key(session_tag), ends)
  local name = call('HGET', at, 'session_id')
  if name ~= session_tag then
    call('SET', key('session', name, 'name'), session_tag, 'PXAT', ends)
  end
end

local function put_session(session_tag, session)
  call('HSET', session_key(session_tag), 'session_id', session.session_id, 'doc', session.doc, 'turns', session.turns,
    'last_active_at', session.last_active_at)
  session_ends(session_tag, session.expires_at)
end

local function session_ids_free(session)
  return not find_session(session.session_id) and not (session.former_id and find_session(session.former_id))
end

-- Stores a session whose ids are free. Remains of an expired session with the same tag are deleted.
local function create_session(session_tag, session)
  call('DEL', session_key(session_tag), key('session', session_tag, 'turns'), summaries_key(session_tag))
  withdraw_session(session_tag)
  put_session(session_tag, session)
  local count = key('session', session_tag, 'count')
  local ends = call('HGET', count, 'ends_at')
  if ends and tonumber(ends) > now then
    call('HSET', count, 'ends_at', session.expires_at)
    call('PEXPIREAT', count, session.expires_at)
  end
end

local function end_session(session_tag)
  local name = call('HGET', session_key(session_tag), 'session_id')
  if name ~= session_tag then
    call('DEL', key('session', name, 'name'))
  end
  call('DEL', session_key(session_tag), key('session', session_tag, 'turns'), summaries_key(session_tag),
    key('session', session_tag, 'count'))
  withdraw_session(session_tag)
end

local function session_of(session_tag)
  return call('HMGET', session_key(session_tag), 'doc', 'session_id', 'turns', 'last_active_at', 'expires_at')
end
