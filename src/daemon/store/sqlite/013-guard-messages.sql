-- The loop guard stores the messages of a user as one list. Its counters last for minutes and are reset; the turns of
-- sessions are kept.
DELETE FROM guard_log;
