-- Claims: a hash of `owner` and `until`. An expired claim is remembered for an hour, so that its owner can still renew
-- it.

local CLAIM_MEMORY_MS = 3600000

-- Whether there is a claim that nobody may take over. If the clock was set back, this also shortens the claim to
-- CLAIM_MS.
local function claim_valid(at)
  local ends = tonumber(call('HGET', at, 'until') or 0)
  if ends > now + CLAIM_MS then
    ends = now + CLAIM_MS
    call('HSET', at, 'until', ends)
  end
  return ends > now
end

-- Whether this owner still has the claim. An expired claim is kept until somebody takes it over.
local function claim_held(at, owner)
  return alive(at) and call('HGET', at, 'owner') == owner
end

local function claim_take(at, owner)
  call('HSET', at, 'owner', owner, 'until', now + CLAIM_MS)
  call('PEXPIREAT', at, now + CLAIM_MS + CLAIM_MEMORY_MS)
end
