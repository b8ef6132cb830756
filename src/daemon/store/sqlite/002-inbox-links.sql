-- Messages that are answered later. A message that has not ended waits in its queue, in the order of `seq`.
CREATE TABLE inbox (
  seq             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL UNIQUE,
  platform        TEXT    NOT NULL,
  queue           TEXT    NOT NULL,
  session_id      TEXT,
  message_id      TEXT,
  message         TEXT,
  reply_to        TEXT    NOT NULL,
  reply           TEXT,
  apology         TEXT,
  failure         TEXT,
  request_id      TEXT    NOT NULL,
  state           TEXT    NOT NULL,
  attempts        INTEGER NOT NULL,
  sends           INTEGER NOT NULL,
  sent_at         INTEGER NOT NULL,
  received_at     INTEGER NOT NULL,
  next_attempt_at INTEGER NOT NULL,
  ended_at        INTEGER
) STRICT;

CREATE INDEX inbox_by_queue ON inbox (queue, seq) WHERE ended_at IS NULL;
CREATE INDEX inbox_by_end   ON inbox (state, ended_at) WHERE ended_at IS NOT NULL;

-- One row for each queue that is not empty: when its first message is due, and which worker processes it.
CREATE TABLE inbox_queues (
  queue    TEXT    PRIMARY KEY,
  platform TEXT    NOT NULL,
  sending  INTEGER NOT NULL,
  due_at   INTEGER NOT NULL,
  first    INTEGER NOT NULL,
  owner    TEXT,
  token    TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_queues_by_due   ON inbox_queues (sending, due_at, first) WHERE token IS NULL;
CREATE INDEX inbox_queues_by_owner ON inbox_queues (owner) WHERE token IS NOT NULL;

-- These ids outlive their messages, so that a late repeat of a discarded message is still recognized.
CREATE TABLE inbox_message_ids (
  platform   TEXT    NOT NULL,
  message_id TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (platform, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_message_ids_by_expiry ON inbox_message_ids (expires_at);

-- The number of messages that have not ended. It is needed for each new message, and counting rows would take time in
-- proportion to their number.
CREATE TABLE inbox_open (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  messages INTEGER NOT NULL
) STRICT;

INSERT INTO inbox_open (id, messages) VALUES (1, 0);

CREATE TRIGGER inbox_opens AFTER INSERT ON inbox WHEN new.ended_at IS NULL
BEGIN UPDATE inbox_open SET messages = messages + 1; END;

CREATE TRIGGER inbox_opens_again AFTER UPDATE OF ended_at ON inbox
WHEN old.ended_at IS NOT NULL AND new.ended_at IS NULL
BEGIN UPDATE inbox_open SET messages = messages + 1; END;

CREATE TRIGGER inbox_ends AFTER UPDATE OF ended_at ON inbox
WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL
BEGIN UPDATE inbox_open SET messages = messages - 1; END;

CREATE TRIGGER inbox_goes AFTER DELETE ON inbox WHEN old.ended_at IS NULL
BEGIN UPDATE inbox_open SET messages = messages - 1; END;

-- Keys have the documented form `<platform>:jwt:<user_id>`.
CREATE TABLE links (
  key        TEXT    PRIMARY KEY,
  token      TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  lapse_told INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX links_by_expiry ON links (expires_at);
