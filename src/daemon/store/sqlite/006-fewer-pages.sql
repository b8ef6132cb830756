-- A message changes as few pages as possible: data that is read and written together is in one row, and no index
-- contains data that changes with every message. `look_at` is when the sweeper checks a row. It is never later than the
-- end that the row had when it was written. If the row was extended after that, it is checked again at its new end.

-- Counters are reset; turns of sessions are kept.
DROP TABLE limit_hits;
DROP TABLE guard_users;

-- Hits of a rate limit, in order of time.
CREATE TABLE limit_windows (
  key        TEXT    PRIMARY KEY,
  hits       TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  look_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX limit_windows_by_look ON limit_windows (look_at);

-- Everything that the loop guard knows about a user with recent messages.
CREATE TABLE guard_users (
  key        TEXT    PRIMARY KEY,
  platform   TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  person     TEXT,
  address    TEXT,
  circuit    TEXT,
  windows    TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  look_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX guard_users_by_look ON guard_users (look_at);

-- The number of turns that passed. The count ends with its session, or at `ends_at` if the session is not stored yet.
DROP TRIGGER guard_turns_begin;
DROP TRIGGER guard_turns_slide;
DROP INDEX guard_turns_by_end;
ALTER TABLE guard_turns ADD COLUMN look_at INTEGER NOT NULL DEFAULT 0;
UPDATE guard_turns SET look_at = ends_at;
CREATE INDEX guard_turns_by_look ON guard_turns (look_at);

-- The turns of a session are found backwards from its last turn.
CREATE TABLE chained_turns (
  id       INTEGER PRIMARY KEY,
  session  INTEGER NOT NULL,
  previous INTEGER,
  person   TEXT,
  answered INTEGER NOT NULL,
  turn     TEXT    NOT NULL
) STRICT;

INSERT INTO chained_turns (id, session, previous, person, answered, turn)
SELECT id, session, lag(id) OVER (PARTITION BY session ORDER BY id), person, answered, turn FROM turns;

ALTER TABLE sessions ADD COLUMN last_turn INTEGER;
UPDATE sessions SET last_turn = (SELECT max(id) FROM turns WHERE session = sessions.id);
DROP TABLE turns;
ALTER TABLE chained_turns RENAME TO turns;

DROP INDEX sessions_by_expiry;
ALTER TABLE sessions ADD COLUMN look_at INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET look_at = expires_at;
CREATE INDEX sessions_by_look ON sessions (look_at);

-- The first column of the index is the number of a block of 256 traces, so that new entries are next to each other.
DROP INDEX traces_by_turn;
DROP INDEX traces_by_request;
DROP INDEX traces_by_session;
DROP INDEX traces_by_message;
CREATE INDEX traces_by_turn    ON traces (id / 256, turn_id);
CREATE INDEX traces_by_request ON traces (id / 256, request_id);
CREATE INDEX traces_by_session ON traces (id / 256, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX traces_by_message ON traces (id / 256, message_id) WHERE message_id IS NOT NULL;
