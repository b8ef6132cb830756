/**
 * The hash tag of all keys but those of shared documents: in a Cluster, everything that one script uses is in one slot.
 */
const PREFIX = 'agentd:{store}:';

/**
 * Names the keys and their content. Change it if an earlier version could not read what this version writes, or the
 * other way around.
 */
export const LAYOUT = 2;
/** Where the layout of the store is recorded. Every script names it, so that its slot decides where the script runs. */
export const LAYOUT_KEY = `${PREFIX}layout`;
export const SERIAL_KEY = `${PREFIX}serial`;
/**
 * A key that never exists. Every script names it, so that both nodes of a Cluster refuse the script while its slot is
 * moved: because a key is missing, the old node answers ASK or TRYAGAIN, and the new node TRYAGAIN. Otherwise the script
 * would run without the keys that have been moved.
 * @see https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
 */
export const ABSENT_KEY = `${PREFIX}absent`;
/** Matches all keys of agentd except links, in every layout that there was. */
export const EVERY_KEY = 'agentd:{*';

/** The beginning of the keys of a kind's documents. */
export const documentPrefix = (kind: string) => `${PREFIX}${kind}:`;
export const documentKey = (kind: string, key: string) => `${PREFIX}${kind}:${storedKey(key)}`;
/** The list of a document. */
export const listKey = (kind: string, key: string) => `${PREFIX}${kind}/list:${storedKey(key)}`;
/** A sorted set: the documents of an index. */
export const indexKey = (kind: string, index: string) => `${PREFIX}${kind}/by:${storedKey(index)}`;
/** A sorted set: the documents of a kind that are in an index and expire, with their places, by the time of their end. */
export const endsKey = (kind: string) => `${PREFIX}${kind}/ends`;
/** Matches the `endsKey` of all kinds. */
export const EVERY_ENDS = /^agentd:\{store\}:[a-z_]+\/ends$/;
/** A stream: the records of a ring. */
export const ringKey = (ring: string) => `${PREFIX}${ring}/ring`;
export const channelKey = (channel: string) => `${PREFIX}told:${channel}`;

/** The kind of the record at a key; null if the key belongs to another program. */
export function kindOfKey(key: string): string | null {
  return key.startsWith(PREFIX) ? (/^[a-z_]+/.exec(key.slice(PREFIX.length))?.[0] ?? 'other') : null;
}

/** The form of a name in keys. Redis takes any bytes, but a text with unpaired surrogates has no UTF-8. */
export function storedKey(key: string): string {
  return key.isWellFormed() && !key.startsWith(ESCAPED) ? key : ESCAPED + JSON.stringify(key);
}

/** The name of which `storedKey` made this text. */
export function originalKey(stored: string): string {
  return stored.startsWith(ESCAPED) ? (JSON.parse(stored.slice(1)) as string) : stored;
}

/** The first character of a key that is stored as JSON. */
const ESCAPED = '\u0001';
