-- include: pending
-- The inbox. A message is a hash in the slot of its queue. A queue is a sorted set of its open messages, ordered by
-- number, and `working` is the claim to one of them. The index of all queues contains when the first message of each
-- unclaimed queue is due, by kind of attempt and platform (`due:…`, or `died:…` if the message was interrupted by the
-- death of a process). It also contains when the claims of claimed queues expire. The index of all messages contains
-- their numbers and names, the texts to send, and when ended messages are deleted.

local function inbox(part)
  return key('inbox', nil, part)
end

local function message_key(queue, id)
  return key('session', queue, 'message:' .. id)
end

local function working_key(queue)
  return key('session', queue, 'working')
end

-- The queue of a message; nil if there is no such message, or if it was deleted.
local function queue_of(id)
  local names = call('HGET', inbox('names'), id)
  if not names then
    return nil
  end
  local queue = cjson.decode(names)[1]
  return alive(message_key(queue, id)) and queue or nil
end

-- A message as the caller gets it: fields and values.
local function message_of(queue, id)
  return call('HGETALL', message_key(queue, id))
end

local function message_held(queue, id, owner)
  local claim = call('HMGET', working_key(queue), 'owner', 'id')
  return claim[1] == owner and claim[2] == id
end

-- Puts a queue into its place in the index. The place depends on the claim of the queue or, without a claim, on its
-- first message.
local function index_queue(queue)
  local before = call('HGET', inbox('places'), queue)
  local place, score
  local ends = call('HGET', working_key(queue), 'until')
  if ends then
    place, score = inbox('claimed'), ends
  else
    local first = call('ZRANGE', key('session', queue, 'inbox'), 0, 0)[1]
    if first then
      local found = call('HMGET', message_key(queue, first), 'platform', 'state', 'interrupted', 'next_attempt_at')
      local kind = found[2] == 'replied' and 'send' or 'run'
      place = inbox((tonumber(found[3]) > 0 and 'died:' or 'due:') .. kind .. ':' .. found[1])
      score = found[4]
    end
  end
  if before and before ~= place then
    call('ZREM', before, queue)
  end
  if place then
    call('ZADD', place, score, queue)
    call('HSET', inbox('places'), queue, place)
  elseif before then
    call('HDEL', inbox('places'), queue)
  end
end

local function end_message_claim(queue)
  call('DEL', working_key(queue))
end

-- Puts a message into the index of its state, by which messages are counted.
local function index_state(queue, id)
  local at = message_key(queue, id)
  local found = call('HMGET', at, 'state', 'platform', 'received_at', 'counted')
  local place = found[1] ~= 'done' and found[1] .. ':' .. found[2]
  if found[4] and found[4] ~= place then
    call('ZREM', inbox('state:' .. found[4]), id)
    call('HDEL', at, 'counted')
  end
  if place and found[4] ~= place then
    call('ZADD', inbox('state:' .. place), found[3], id)
    call('SADD', inbox('states'), place)
    call('HSET', at, 'counted', place)
  end
end

-- Deletes a message, and the claim to it.
local function delete_message(queue, id)
  local at = message_key(queue, id)
  local counted = call('HGET', at, 'counted')
  if counted then
    call('ZREM', inbox('state:' .. counted), id)
  end
  local platform = call('HGET', at, 'platform')
  call('DEL', at)
  call('HDEL', inbox('names'), id)
  for _, part in ipairs({ 'all', 'ended', 'failed' }) do
    call('ZREM', inbox(part), id)
  end
  if platform then
    call('ZREM', inbox('texts:' .. platform), id)
  end
  call('ZREM', key('session', queue, 'inbox'), id)
  if call('HGET', working_key(queue), 'id') == id then
    end_message_claim(queue)
  end
  index_queue(queue)
end

-- Deletes ended messages whose time has passed, and the oldest failed messages if there are too many, in batches.
local function delete_ended()
  local over = call('ZRANGEBYSCORE', inbox('ended'), '-inf', now, 'LIMIT', 0, 100)
  local many = call('ZCARD', inbox('failed')) - FAILED_MAX
  if many > 0 then
    for _, id in ipairs(call('ZRANGE', inbox('failed'), 0, math.min(many, 100) - 1)) do
      over[#over + 1] = id
    end
  end
  for _, id in ipairs(over) do
    local names = call('HGET', inbox('names'), id)
    if names then
      delete_message(cjson.decode(names)[1], id)
    end
  end
end

-- Puts a message that was changed into its places in the indexes.
local function file_message(queue, id)
  local at = message_key(queue, id)
  local found = call('HMGET', at, 'state', 'platform', 'text_stored_at', 'ended_at', 'number')
  local texts, open = inbox('texts:' .. found[2]), key('session', queue, 'inbox')
  if found[1] == 'replied' then
    call('ZADD', texts, found[3], id)
  else
    call('ZREM', texts, id)
  end
  if found[4] then
    local over = tonumber(found[4]) + (found[1] == 'done' and DONE_MS or FAILED_MS)
    call('ZREM', open, id)
    call('ZADD', inbox('ended'), over, id)
    call('PEXPIREAT', at, over)
    if found[1] == 'failed' then
      call('ZADD', inbox('failed'), found[4], id)
    end
    delete_ended()
  else
    call('ZADD', open, found[5], id)
    call('ZREM', inbox('ended'), id)
    call('ZREM', inbox('failed'), id)
    call('PERSIST', at)
  end
  index_state(queue, id)
  index_queue(queue)
end

-- Changes members of a message. `set`: new values; `times`: times relative to now; `del`: members that become null.
local function change_message(queue, id, changes)
  local at = message_key(queue, id)
  for field, value in pairs(changes.set) do
    call('HSET', at, field, value)
  end
  for field, after in pairs(changes.times) do
    call('HSET', at, field, now + after)
  end
  for _, field in ipairs(changes.del) do
    call('HDEL', at, field)
  end
  call('HSET', at, 'wait_ms', call('HGET', at, 'next_attempt_at') - now)
  file_message(queue, id)
  local state = call('HGET', at, 'state')
  if state == 'done' then
    note_asked(id)
  elseif state == 'failed' then
    drop_unasked(id)
  end
end

-- Stores the reply of a claimed message, and begins the first attempt to send it. `question`: the question at its end
-- as JSON, or nil.
local function store_reply(queue, id, reply, question)
  local at = message_key(queue, id)
  if question then
    call('HSET', at, 'question', question)
  else
    call('HDEL', at, 'question')
  end
  call('HSET', at, 'reply', reply, 'state', 'replied', 'sends', 1, 'text_stored_at', now, 'parts_sent', 0,
    'interrupted', 0)
  call('HDEL', at, 'failure')
  file_message(queue, id)
end

-- Restarts a failed message, or makes a waiting message due now. Returns whether it did so.
local function retry_message(queue, id)
  local at = message_key(queue, id)
  local state = call('HGET', at, 'state')
  if state == 'failed' then
    local replied = call('HEXISTS', at, 'reply') == 1
    call('HSET', at, 'state', replied and 'replied' or 'waiting', 'attempts', 0, 'passing', 0, 'sends', 0,
      'interrupted', 0)
    call('HDEL', at, 'first_run_at', 'notice', 'failure', 'notice_failure', 'ended_at')
    if replied then
      call('HSET', at, 'text_stored_at', now)
    else
      call('HDEL', at, 'text_stored_at')
      call('HSET', at, 'parts_sent', 0)
    end
  elseif state ~= 'waiting' and state ~= 'replied' then
    return false
  end
  call('HSET', at, 'next_attempt_at', now, 'wait_ms', 0)
  file_message(queue, id)
  return true
end

local function seen_key(name)
  return key('seen', name, 'facts')
end

-- Records a fact about a message of a platform, which is recognized for another SEEN_MS. `user_id`: who wrote it, so that
-- an erasure finds it; nil if that is not known.
local function note_seen(name, field, value, user_id)
  local at = seen_key(name)
  if not alive(at) then
    call('DEL', at)
  end
  call('HSET', at, field, value)
  if user_id then
    call('HSET', at, 'user_id', user_id)
  end
  call('PEXPIREAT', at, now + SEEN_MS)
end

local function was_enqueued(name)
  return alive(seen_key(name)) and call('HEXISTS', seen_key(name), 'id') == 1
end

-- The number of a new message. In a Cluster, the daemon numbers the messages, because queues of different shards are
-- listed and claimed together. Messages of a queue are in the order in which they are stored, even if daemons got their
-- numbers in another order, or if a failover has set the numbers back.
local function next_number(message)
  if not message.number then
    return call('INCR', inbox('number'))
  end
  local last = call('ZREVRANGE', key('session', message.queue, 'inbox'), 0, 0, 'WITHSCORES')[2]
  return math.max(message.number, last and tonumber(last) + 1 or 0)
end

-- Stores a complete delivery or nothing. Returns `kept` or `repeated` for each message, or false if it does not fit.
local function enqueue(messages)
  local outcomes, fresh, names = {}, {}, {}
  for place, message in ipairs(messages) do
    local seen = message.seen
    if seen and (names[seen] or was_enqueued(seen)) then
      outcomes[place] = 'repeated'
    else
      outcomes[place] = 'kept'
      fresh[#fresh + 1] = message
      if seen then
        names[seen] = true
      end
    end
  end
  if #fresh == 0 then
    return outcomes
  end
  if call('ZCARD', inbox('all')) - call('ZCARD', inbox('ended')) + #fresh > INBOX_MAX then
    return false
  end
  delete_ended()
  for _, message in ipairs(fresh) do
    local at = message_key(message.queue, message.id)
    local number = next_number(message)
    call('HSET', at, 'doc', message.doc, 'platform', message.platform, 'number', number, 'received_at', now,
      'attempts', 0, 'passing', 0, 'sends', 0, 'parts_sent', 0, 'interrupted', 0, 'next_attempt_at', now, 'wait_ms', 0,
      'state', message.reply and 'replied' or 'waiting')
    if message.is_run then
      call('HSET', at, 'is_run', 1)
    end
    if message.reply then
      call('HSET', at, 'reply', message.reply, 'text_stored_at', now)
    end
    call('ZADD', inbox('all'), number, message.id)
    call('HSET', inbox('names'), message.id, message.names)
    if message.seen then
      note_seen(message.seen, 'id', message.id, message.user_id)
    end
    file_message(message.queue, message.id)
  end
  return outcomes
end

-- No message waits longer than it was postponed. If the clock was set back, messages that would wait longer become due
-- now.
local function keep_due(place)
  for _, queue in ipairs(call('ZRANGEBYSCORE', place, '(' .. now, '+inf')) do
    local first = call('ZRANGE', key('session', queue, 'inbox'), 0, 0)[1]
    local found = call('HMGET', message_key(queue, first), 'next_attempt_at', 'wait_ms')
    if found[1] - now > tonumber(found[2]) then
      call('ZADD', place, now, queue)
    end
  end
end

-- The places of unclaimed queues of platforms, as two lists: queues whose first message was not interrupted, and queues
-- whose first message was.
local function places_of(kind, platforms)
  local fresh, died = {}, {}
  for _, platform in ipairs(platforms) do
    fresh[#fresh + 1] = inbox('due:' .. kind .. ':' .. platform)
    died[#died + 1] = inbox('died:' .. kind .. ':' .. platform)
  end
  local clock = inbox('clock')
  local latest = tonumber(call('GET', clock) or 0)
  if now < latest then
    for _, places in ipairs({ fresh, died }) do
      for _, place in ipairs(places) do
        keep_due(place)
      end
    end
  end
  call('SET', clock, now)
  return fresh, died
end
