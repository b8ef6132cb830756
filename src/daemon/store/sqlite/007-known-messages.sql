-- The facts that are recorded about a message of a platform: the verdict of the guard, and the id of the message in the
-- inbox. Both are in one row because one commit writes both. The row outlives the message, so that late repeats are
-- recognized.
CREATE TABLE known_messages (
  platform   TEXT    NOT NULL,
  message_id TEXT    NOT NULL,
  verdict    TEXT,
  id         TEXT,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (platform, message_id)
) STRICT, WITHOUT ROWID;

INSERT INTO known_messages (platform, message_id, verdict, id, expires_at)
SELECT platform, message_id, NULL, id, expires_at FROM inbox_message_ids;

INSERT INTO known_messages (platform, message_id, verdict, id, expires_at)
SELECT platform, message_id, verdict, NULL, expires_at FROM guard_verdicts WHERE true
ON CONFLICT DO UPDATE SET verdict = excluded.verdict, expires_at = max(expires_at, excluded.expires_at);

CREATE INDEX known_messages_by_expiry ON known_messages (expires_at);

DROP TABLE inbox_message_ids;
DROP TABLE guard_verdicts;
