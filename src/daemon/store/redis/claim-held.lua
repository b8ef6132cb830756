-- include: claims
-- KEYS[1]: a claim. ARGV: owner. Returns 1 if the owner still has it, else 0.
return claim_held(KEYS[1], ARGV[3]) and 1 or 0
