-- include: claims keys
-- Ends the claim of an idempotency key. The fingerprint is kept for some time. No effect if the claim is lost. KEYS[1]:
-- the claim. ARGV: owner.
if claim_held(KEYS[1], ARGV[3]) then
  call('HDEL', KEYS[1], 'owner', 'until')
  call('PEXPIREAT', KEYS[1], now + KEY_MEMORY_MS)
end
return 1
