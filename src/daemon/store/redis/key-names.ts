/**
 * The names of keys: `agentd:{<kind>:<name>}:<part>`. All keys of one session have its hash tag; link records have the
 * documented names. `base.lua` makes the same names.
 */
export class KeyNames {
  /** In a Cluster, the hash tag that all keys share, so that a script may use any of them. Otherwise null. */
  readonly tag: string | null;

  constructor(tag: string | null) {
    this.tag = tag;
  }

  /** @param name null for the only record of its kind. */
  key(kind: string, name: string | null, part: string): string {
    const whole = name === null ? kind : `${kind}:${name}`;
    return this.tag === null ? `agentd:{${whole}}:${part}` : `agentd:{${this.tag}}:${whole}:${part}`;
  }

  /** A pattern of `SCAN` for all keys of a kind and part. */
  pattern(kind: string, part: string): string {
    const begins = this.tag === null ? `agentd:{${kind}:` : `agentd:{${this.tag}}:${kind}:`;
    return `${escapeGlob(begins)}*${this.tag === null ? '}' : ''}:${part}`;
  }

  /** The name in a key that the pattern found. */
  nameOf(key: string, kind: string, part: string): string {
    const begins = this.tag === null ? `agentd:{${kind}:` : `agentd:{${this.tag}}:${kind}:`;
    const ends = this.tag === null ? `}:${part}` : `:${part}`;
    return key.slice(begins.length, -ends.length);
  }

  /** The key for facts about a link other than its value, in the same slot. */
  besideLink(link_key: string): string {
    return `agentd:{${link_key}}:link`;
  }
}

export function escapeGlob(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&');
}
