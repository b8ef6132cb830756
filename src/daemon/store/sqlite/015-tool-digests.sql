-- How MCP servers define their tools: the trusted definition, and the definition that the server sends now if it is
-- different.
CREATE TABLE tool_digests (
  name       TEXT PRIMARY KEY,
  source     TEXT NOT NULL,
  -- JSON: digest, title, description, schema.
  trusted    TEXT NOT NULL,
  trusted_at INTEGER NOT NULL,
  changed    TEXT,
  changed_at INTEGER
) STRICT, WITHOUT ROWID;
