-- include: claims keys
-- Ends the claim of an idempotency key. The fingerprint is kept for some time. No effect if the claim is lost. KEYS[1]:
-- the claim. ARGV: owner, 1 if the loop guard has counted the request.
if claim_held(KEYS[1], ARGV[3]) then
  call('HDEL', KEYS[1], 'owner', 'until')
  if ARGV[4] == '1' then
    call('HSET', KEYS[1], 'counted', 1)
  end
  call('PEXPIREAT', KEYS[1], now + KEY_MEMORY_MS)
end
return 1
