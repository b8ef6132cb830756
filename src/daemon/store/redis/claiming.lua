-- include: inbox
-- How messages are claimed.

local function add_heads(heads, place, from, to, ...)
  local queues = call('ZRANGEBYSCORE', place, from, to, 'WITHSCORES', ...)
  for at = 1, #queues, 2 do
    local queue = queues[at]
    local first = call('ZRANGE', key('session', queue, 'inbox'), 0, 0, 'WITHSCORES')
    local interrupted = call('HGET', message_key(queue, first[1]), 'interrupted')
    heads[#heads + 1] = { queue = queue, id = first[1], number = tonumber(first[2]), due = tonumber(queues[at + 1]),
      interrupted = tonumber(interrupted) }
  end
  return #queues / 2, queues[#queues]
end

-- The queues whose first message is due, in the order in which they are claimed; at least `limit` of them if that many
-- are due. `wanted` has `kind` (`run`|`send`), `platforms`, `which` (`fresh`|`interrupted`).
local function due_heads(wanted, limit)
  local kind, heads = wanted.kind, {}
  local fresh, died = places_of(kind, wanted.platforms)
  if wanted.which == 'interrupted' then
    for _, place in ipairs(died) do
      add_heads(heads, place, '-inf', now)
    end
  else
    for _, place in ipairs(fresh) do
      local found, last = add_heads(heads, place, '-inf', now, 'LIMIT', 0, limit)
      if found == limit then
        -- Other queues may be due at the same time as the last queue. The number decides the order of queues with equal
        -- times.
        for at = #heads - found + 1, #heads do
          if heads[at].due == tonumber(last) then
            heads[at].is_again = true
          end
        end
        add_heads(heads, place, last, last)
      end
    end
  end
  local due = {}
  for _, head in ipairs(heads) do
    if not head.is_again then
      due[#due + 1] = head
    end
  end
  table.sort(due, function(a, b)
    if a.interrupted ~= b.interrupted then
      return a.interrupted < b.interrupted
    end
    if a.due ~= b.due then
      return a.due < b.due
    end
    return a.number < b.number
  end)
  return due
end

-- Claims queues whose first message is due, and begins an attempt at that message. `wanted` is as in `due_heads`, and
-- also has `owners`: one for each queue that may be claimed. Returns owner and fields of each message.
local function claim_messages(wanted)
  local kind, limit, claimed = wanted.kind, #wanted.owners, {}
  local due = due_heads(wanted, limit)
  for place = 1, math.min(limit, #due) do
    local head, owner = due[place], wanted.owners[place]
    local at = message_key(head.queue, head.id)
    if kind == 'send' then
      call('HINCRBY', at, 'sends', 1)
    else
      call('HSET', at, 'state', 'running')
      call('HINCRBY', at, 'attempts', 1)
      call('HSETNX', at, 'first_run_at', now)
      index_state(head.queue, head.id)
    end
    call('HSET', working_key(head.queue), 'owner', owner, 'id', head.id, 'until', now + CLAIM_MS)
    index_queue(head.queue)
    claimed[#claimed + 1] = { owner, message_of(head.queue, head.id) }
  end
  return claimed
end

-- When the first unclaimed queue of a kind is due, and whether an interrupted message is waiting.
local function look_at_queues(kind, platforms)
  local fresh, died = places_of(kind, platforms)
  local first, interrupted = nil, false
  for _, places in ipairs({ fresh, died }) do
    for _, place in ipairs(places) do
      local due = call('ZRANGE', place, 0, 0, 'WITHSCORES')[2]
      if due and (not first or tonumber(due) < first) then
        first = tonumber(due)
      end
      if due and places == died then
        interrupted = true
      end
    end
  end
  return first, interrupted
end
