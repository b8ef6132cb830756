import { randomBytes } from 'node:crypto';
import {
  changeKeyFile,
  isSealingOff,
  KeyFileUnchanged,
  keyFilePath,
  keyList,
  readKeyFile,
} from '../identity/key-file.ts';
import {
  countSealed,
  listMarks,
  lostKey,
  openAdministratorSeal,
  openSeal,
  parseKeyId,
  type Seal,
  type SealCount,
} from '../identity/seal.ts';
import { sharesStore } from '../settings/backends.ts';
import type { SettingProblem } from '../settings/problem.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import type { Store } from '../store/store.ts';

export type { Seal };
/** The keys that seal stored tokens and texts, and the file that contains them. */
export { changeKeyFile, isSealingOff, KeyFileUnchanged, keyFilePath, keyList, openAdministratorSeal };

/** Seals of a store that has no key yet: makes the key that the first start of the daemon would make. */
export function makeSeal(settings: Settings, store: Pick<Store, 'countSeals'>): Promise<Seal> {
  return openSeal(settings, store, { info() {}, warn() {} });
}

/** A new key that can seal, in base64. */
export function newKey(): string {
  return randomBytes(32).toString('base64');
}

/** The short hash by which people name a key. @param key in base64 */
export function hashOfKey(key: string): string {
  return parseKeyId(listMarks(new Secret(key))[0] as string);
}

/** The keys in the file of STATE_DIR, the one that seals first; null if there is no file. */
export async function keysInFile({ STATE_DIR }: Pick<Settings, 'STATE_DIR'>): Promise<string[] | null> {
  const file = await readKeyFile(STATE_DIR);
  return file && keyList(file.keys);
}

/**
 * A key that seals or opens stored texts, or an unknown key that has sealed some of them. Stored texts that are not
 * sealed also count as one entry, without a key.
 */
export interface SealingKey {
  /** A short hash of the key; null for texts that are not sealed. */
  key: string | null;
  role: 'seals' | 'opens' | 'unknown' | 'unsealed';
  /** The setting or the file that contains it; null if the key is unknown. */
  source: string | null;
  /** Number of stored tokens and texts of actions that the key has sealed. */
  texts: number;
}

/** The command that removes this key from the key file. A hash in base64url may begin like an option. */
export function removalCommand({ key }: SealingKey): string {
  return `agentd keys remove ${key?.startsWith('-') ? '-- ' : ''}${key}`;
}

/** The setting whose keys agentd does not change. */
export const KEY_SETTING = 'TOKEN_ENCRYPTION_KEY';

/**
 * All keys: first the key that seals, and last the unknown keys that have sealed texts.
 * @param sealed as of `Store.countSeals`; null if nothing is stored
 */
export async function sealingKeys(
  settings: Settings,
  sealed: ReadonlyMap<string, SealCount> | null,
): Promise<SealingKey[]> {
  const { TOKEN_ENCRYPTION_KEY: set, STATE_DIR } = settings;
  const file = await readKeyFile(STATE_DIR);
  const isOff = isSealingOff(set);
  const known = [
    ...listMarks(isOff ? undefined : set).map((mark) => ({ mark, source: KEY_SETTING })),
    ...listMarks(file?.keys).map((mark) => ({ mark, source: file?.path ?? null })),
  ];
  const sealsNone = isOff || (set === undefined && sharesStore(settings));
  const counts = new Map([...(sealed ?? [])].map(([mark, { texts }]) => [mark, texts]));
  const keys: SealingKey[] = [];
  for (const { mark, source } of known) {
    if (keys.some(({ key }) => key === parseKeyId(mark))) continue;
    const role = keys.length === 0 && !sealsNone ? 'seals' : 'opens';
    keys.push({ key: parseKeyId(mark), role, source, texts: counts.get(mark) ?? 0 });
    counts.delete(mark);
  }
  for (const [mark, texts] of [...counts].sort()) {
    if (mark === '') keys.push({ key: null, role: 'unsealed', source: null, texts });
    else keys.push({ key: parseKeyId(mark), role: 'unknown', source: null, texts });
  }
  return keys;
}

/** The keys that only open texts, and that no stored text needs. */
export function unusedKeys(keys: readonly SealingKey[]): SealingKey[] {
  return keys.filter(({ role, texts }) => role === 'opens' && texts === 0);
}

/** Whether stored tokens are sealed, and whether the keys of the settings open them. */
export type SealingCondition =
  /** There is no key. `lost` is set if the store contains tokens that some key has sealed. */
  | { hasKey: false; isShared: boolean; lost: SettingProblem | null }
  | {
      hasKey: true;
      isOff: boolean;
      /** The setting or the file whose keys are used. */
      source: string;
      /** The key file and a warning, if users other than its owner can read or replace it. */
      loose: { path: string; warning: string } | null;
      /** Null if the store is not open. */
      tokens: { sealed: number; readable: number; unsealed: number } | null;
      keys: readonly SealingKey[];
    };

/**
 * Examines the sealing of a store. Creates no key.
 * @param store null if the store does not open
 * @throws ConfigurationError if the key file cannot be used
 */
export async function examineSealing(settings: Settings, store: Store | null): Promise<SealingCondition> {
  const { TOKEN_ENCRYPTION_KEY: set, STATE_DIR } = settings;
  const isShared = sharesStore(settings);
  if (set === undefined && isShared) return { hasKey: false, isShared, lost: null };
  const file = await readKeyFile(STATE_DIR);
  if (set === undefined && file === null)
    return { hasKey: false, isShared, lost: store && (await lostKey(settings, store)) };
  const isOff = isSealingOff(set);
  const counts = store && (await store.countSeals());
  const marks = new Set([...listMarks(isOff ? undefined : set), ...listMarks(file?.keys)]);
  return {
    hasKey: true,
    isOff,
    source: set === undefined && file !== null ? file.path : KEY_SETTING,
    loose: file === null || file.loose === null ? null : { path: file.path, warning: file.loose },
    tokens: counts && {
      sealed: countSealed(counts),
      readable: countSealed(new Map([...counts].filter(([mark]) => marks.has(mark)))),
      unsealed: counts.get('')?.tokens ?? 0,
    },
    keys: counts === null || isOff ? [] : await sealingKeys(settings, counts),
  };
}
