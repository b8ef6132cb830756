import { COMMON, shardOf } from './shards.ts';

/**
 * The names of keys: `agentd:{<kind>:<name>}:<part>`. Keys that one script uses together in a Cluster share a hash tag:
 * `agentd:{<tag>}:<kind>:<name>:<part>`. Link records have the documented names. `base.lua` makes the same names.
 */
export class KeyNames {
  readonly #tag: string | null;

  /** @param tag the hash tag of all keys, if there is one. */
  constructor(tag: string | null = null) {
    this.#tag = tag;
  }

  /** @param name null for the only record of its kind. */
  key(kind: string, name: string | null, part: string): string {
    const whole = name === null ? kind : `${kind}:${name}`;
    const tag = this.tagFor(name);
    return tag === null ? `agentd:{${whole}}:${part}` : `agentd:{${tag}}:${whole}:${part}`;
  }

  /** The hash tag of the keys that have this name; null if they share no hash tag. */
  protected tagFor(_name: string | null): string | null {
    return this.#tag;
  }

  /**
   * The hash tag from which a script that is called with this key makes its other keys; empty if they share no hash
   * tag.
   */
  tagIn(_key: string): string {
    return this.#tag ?? '';
  }

  /** A pattern of `SCAN` for all keys of a kind and part. */
  pattern(kind: string, part: string): string {
    return `agentd:{${escapeGlob(`${kind}:`)}*}:${part}`;
  }

  /** The name in a key that the pattern found. */
  nameOf(key: string, kind: string, part: string): string {
    return key.slice(`agentd:{${kind}:`.length, -`}:${part}`.length);
  }

  /** Kind, name and part of a key, joined by colons; null if the key is not of this layout. */
  tail(key: string): string | null {
    return key.startsWith('agentd:{') ? key.slice('agentd:{'.length) : null;
  }

  /** The key for facts about a link other than its value, in the same slot. */
  besideLink(link_key: string): string {
    return `agentd:{${link_key}}:link`;
  }
}

/** The beginning of the keys of a Cluster: all shards, and the records that belong to none. */
const BEGINNING = /^agentd:\{([a-z0-9]+)\}:/;

/** The names of keys in a Cluster: the name of a record decides its shard. */
export class ShardedNames extends KeyNames {
  protected override tagFor(name: string | null): string {
    return name === null ? COMMON : shardOf(name);
  }

  override tagIn(key: string): string {
    return BEGINNING.exec(key)?.[1] ?? '';
  }

  override pattern(kind: string, part: string): string {
    return `agentd:{s[0-9][0-9]}:${escapeGlob(kind)}:*:${part}`;
  }

  override nameOf(key: string, kind: string, part: string): string {
    return (this.tail(key) ?? '').slice(`${kind}:`.length, -`:${part}`.length);
  }

  override tail(key: string): string | null {
    const beginning = BEGINNING.exec(key)?.[0];
    return beginning === undefined ? null : key.slice(beginning.length);
  }
}

export function escapeGlob(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&');
}
