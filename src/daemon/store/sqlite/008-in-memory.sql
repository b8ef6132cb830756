-- Data that the daemon reads and writes with every message is kept in memory. The tables below store it so that a write
-- changes few pages.

-- A log of the counters that last for minutes, with one row for each commit. `entries` is a JSON list. Each element is
-- [key, expires_at, state], or [key] if the state was deleted. Counters are reset; turns of sessions are kept.
DROP TABLE limit_windows;
DROP TABLE guard_users;
CREATE TABLE limit_log (id INTEGER PRIMARY KEY, entries TEXT NOT NULL) STRICT;
CREATE TABLE guard_log (id INTEGER PRIMARY KEY, entries TEXT NOT NULL) STRICT;

-- The queues are built in memory from the messages that have not ended. `claim` names the worker that processes a
-- message.
DROP TABLE inbox_queues;
DROP INDEX inbox_by_queue;
DROP TRIGGER inbox_opens;
DROP TRIGGER inbox_opens_again;
DROP TRIGGER inbox_ends;
DROP TRIGGER inbox_goes;
DROP TABLE inbox_open;
ALTER TABLE inbox ADD COLUMN claim TEXT;
UPDATE inbox SET claim = 'before' WHERE ended_at IS NULL AND state = 'running';
CREATE INDEX inbox_unfinished ON inbox (seq) WHERE ended_at IS NULL;
