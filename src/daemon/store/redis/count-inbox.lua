-- How many messages have not ended, and how many have failed. KEYS[1]: all messages; KEYS[2]: those that have ended;
-- KEYS[3]: those that have failed.
return { call('ZCARD', KEYS[1]) - call('ZCARD', KEYS[2]), call('ZCARD', KEYS[3]) }
