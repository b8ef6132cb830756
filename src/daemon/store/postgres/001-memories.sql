-- Long-term memory: who memories are kept for, and the memories. A row of an owner is the lock of the owner's memories.
CREATE TABLE agentd_memory_owners (
  owner text PRIMARY KEY,
  alias text
);

-- `terms` are the words of the text as the program makes them, not those of a configuration of this server.
CREATE TABLE agentd_memories (
  memory_id text PRIMARY KEY,
  owner text NOT NULL REFERENCES agentd_memory_owners ON DELETE CASCADE,
  text text NOT NULL,
  terms tsvector NOT NULL,
  turn_id text NOT NULL,
  tainted boolean NOT NULL,
  created_at bigint NOT NULL,
  used_at bigint NOT NULL
);

-- Each search is within one owner, whose memories are few: no index over all words is needed.
CREATE INDEX agentd_memories_by_owner ON agentd_memories (owner, used_at);
