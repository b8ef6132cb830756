-- The budgets of a message: how many runs failed for a temporary reason, and when running and sending began.
ALTER TABLE inbox RENAME COLUMN apology TO notice;
ALTER TABLE inbox ADD COLUMN notice_failure TEXT;
ALTER TABLE inbox ADD COLUMN passing INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN first_run_at INTEGER;
ALTER TABLE inbox ADD COLUMN text_stored_at INTEGER;
ALTER TABLE inbox ADD COLUMN parts_sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;
-- How long the next attempt was postponed, ms. If the clock is set back, no attempt waits longer than this.
ALTER TABLE inbox ADD COLUMN wait_ms INTEGER NOT NULL DEFAULT 0;

-- Earlier schemas did not record these times, so they are approximated.
UPDATE inbox SET text_stored_at = received_at WHERE state = 'replied';
UPDATE inbox SET first_run_at = next_attempt_at WHERE state IN ('waiting', 'running') AND attempts > 0;

-- Platforms that cannot be reached.
CREATE TABLE outages (
  platform TEXT    PRIMARY KEY,
  reason   TEXT    NOT NULL,
  words    TEXT    NOT NULL,
  since    INTEGER NOT NULL,
  probes   INTEGER NOT NULL,
  probe_at INTEGER NOT NULL,
  wait_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
