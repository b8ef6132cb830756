/**
 * What MCP servers say of their tools (agentd-agent(7), "MCP"): the definition that is trusted, which is the first one
 * seen until an administrator trusts another, and the one that the server sends now if it differs. Kept for good: the
 * configuration bounds how many tools there are.
 */
export interface ToolDigestStore {
  /**
   * Records what a server says of a tool now; atomic. The first definition of a tool is trusted. A later one that differs
   * from it is stored as `changed`; one that is equal to it removes `changed`.
   * @param name the name under which the tool is offered
   * @param source the `name` of its entry
   * @returns the record as it is then
   */
  observe(name: string, source: string, definition: ToolDefinition): Promise<ToolDigest>;
  /** Null if no server has named this tool yet. */
  find(name: string): Promise<ToolDigest | null>;
  /** In the order of their names. */
  list(): Promise<ToolDigest[]>;
  /**
   * Trusts the changed definition; atomic. False if `digest` is not the changed one: nothing is stored, look again.
   */
  trust(name: string, digest: string): Promise<boolean>;
}

export interface ToolDigest {
  name: string;
  source: string;
  trusted: ToolDefinition;
  /** When it was first seen, or trusted by an administrator. */
  trusted_at: number;
  /** Null if the server sends the trusted one. */
  changed: ToolDefinition | null;
  /** When it was first seen; null if there is none. */
  changed_at: number | null;
}

export interface ToolDefinition {
  /** SHA-256 of title, description and schema as the server sends them, in hex. */
  digest: string;
  title: string | null;
  /** Bounded, and what looks like a token is masked: for administrators to compare. The same is true of the schema. */
  description: string;
  /** JSON. */
  schema: string;
}
