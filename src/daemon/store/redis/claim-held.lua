-- include: claims
-- Checks a claim. KEYS[1]: the claim. ARGV: owner. Returns 1 if this owner still has the claim, else 0.
return claim_held(KEYS[1], ARGV[3]) and 1 or 0
