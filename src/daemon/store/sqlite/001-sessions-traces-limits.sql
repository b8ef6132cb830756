-- Times are ms since the epoch. Data that is always read as a whole is JSON in one column.

CREATE TABLE sessions (
  id             INTEGER PRIMARY KEY,
  session_id     TEXT    NOT NULL UNIQUE,
  user_id        TEXT    NOT NULL,
  platform       TEXT    NOT NULL,
  space          TEXT    NOT NULL,
  generated      INTEGER NOT NULL,
  owner          TEXT,
  bound_user_id  TEXT,
  bound_person   TEXT,
  turns          INTEGER NOT NULL,
  created_at     INTEGER NOT NULL,
  last_active_at INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL,
  metadata       TEXT    NOT NULL
) STRICT;

CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- One row for each message and its reply. `person` and `answered` are separate from the JSON because queries use them.
CREATE TABLE turns (
  id       INTEGER PRIMARY KEY,
  session  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  person   TEXT,
  answered INTEGER NOT NULL,
  turn     TEXT    NOT NULL
) STRICT;

CREATE INDEX turns_by_session ON turns (session);

-- Traces outlive their session. Ids rise with time and the lowest are deleted first. So the oldest rows are found
-- without an index, and the number of rows is the difference of two ids.
CREATE TABLE traces (
  id         INTEGER PRIMARY KEY,
  kept_at    INTEGER NOT NULL,
  turn_id    TEXT    NOT NULL,
  request_id TEXT    NOT NULL,
  session_id TEXT,
  message_id TEXT,
  trace      TEXT    NOT NULL
) STRICT;

CREATE INDEX traces_by_turn    ON traces (turn_id);
CREATE INDEX traces_by_request ON traces (request_id);
CREATE INDEX traces_by_session ON traces (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX traces_by_message ON traces (message_id) WHERE message_id IS NOT NULL;

-- One row for each hit, numbered per key without gaps: the number of hits in a window is the difference of two numbers,
-- however large the limit is.
CREATE TABLE limit_hits (
  key        TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (key, at, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX limit_hits_by_expiry ON limit_hits (expires_at);

CREATE TABLE answers (
  key         TEXT    PRIMARY KEY,
  fingerprint TEXT    NOT NULL,
  expires_at  INTEGER NOT NULL,
  answer      TEXT    NOT NULL
) STRICT;

CREATE INDEX answers_by_expiry ON answers (expires_at);

-- A row that is written to test whether the store can be written.
CREATE TABLE last_check (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
) STRICT;
