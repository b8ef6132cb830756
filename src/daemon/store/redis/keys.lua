-- Idempotency keys: a claim with the fingerprint of its request, and the answer. A released claim keeps the fingerprint
-- for some time.

local KEY_MEMORY_MS = 3600000

local function key_claim(name)
  return key('key', name, 'claim')
end

local function store_answer(name, fingerprint, answer, ttl_ms)
  local at = key('key', name, 'answer')
  call('HSET', at, 'fingerprint', fingerprint, 'answer', answer)
  call('PEXPIREAT', at, now + ttl_ms)
  call('DEL', key_claim(name))
end

-- Looks up a key. Returns `new`, and `counted` if a released request was counted; `running`; `other_body`; or `done`
-- with the answer.
local function look_key(name, fingerprint)
  local claim = key_claim(name)
  if claim_valid(claim) then
    return { call('HGET', claim, 'fingerprint') == fingerprint and 'running' or 'other_body' }
  end
  local at = key('key', name, 'answer')
  if not alive(at) then
    local known = alive(claim) and call('HMGET', claim, 'fingerprint', 'counted') or {}
    if (known[1] or fingerprint) ~= fingerprint then
      return { 'other_body' }
    end
    return { 'new', known[2] and 'counted' or nil }
  end
  local done = call('HMGET', at, 'fingerprint', 'answer')
  if done[1] ~= fingerprint then
    return { 'other_body' }
  end
  return { 'done', done[2] }
end
