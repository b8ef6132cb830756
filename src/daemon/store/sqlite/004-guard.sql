-- One row for each user with recent messages. Their hits are in `limit_hits`.
CREATE TABLE guard_users (
  key        TEXT    PRIMARY KEY,
  platform   TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  person     TEXT,
  address    TEXT,
  circuit    TEXT,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX guard_users_by_expiry ON guard_users (expires_at);

-- The number of turns that passed. It is not stored with the session, because the session may not be stored yet; the
-- count ends with the session.
CREATE TABLE guard_turns (
  session_id TEXT    PRIMARY KEY,
  turns      INTEGER NOT NULL,
  blocked    INTEGER NOT NULL,
  max        INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX guard_turns_by_end ON guard_turns (ends_at);
CREATE INDEX guard_turns_blocked ON guard_turns (session_id) WHERE blocked > 0;

CREATE TRIGGER guard_turns_begin AFTER INSERT ON sessions
BEGIN UPDATE guard_turns SET ends_at = new.expires_at WHERE session_id = new.session_id; END;

CREATE TRIGGER guard_turns_slide AFTER UPDATE OF expires_at ON sessions
BEGIN UPDATE guard_turns SET ends_at = new.expires_at WHERE session_id = new.session_id; END;

-- An expired session may be deleted after a new session with the same id has begun. The count of the new session must
-- not be deleted.
CREATE TRIGGER guard_turns_end AFTER DELETE ON sessions
BEGIN DELETE FROM guard_turns WHERE session_id = old.session_id AND ends_at <= old.expires_at; END;

-- The verdict on a message of a platform. A repeat of the message gets the same verdict.
CREATE TABLE guard_verdicts (
  platform   TEXT    NOT NULL,
  message_id TEXT    NOT NULL,
  verdict    TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (platform, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX guard_verdicts_by_expiry ON guard_verdicts (expires_at);
