import { isSealingOff } from '../daemon/identity/encryption-keys.ts';
import { readKeyFile } from '../daemon/identity/key-file.ts';
import { keyIdOf, marksOf } from '../daemon/identity/seal.ts';
import { sessionBackend } from '../daemon/settings/session-backend.ts';
import type { Settings } from '../daemon/settings/settings.ts';
import type { Store } from '../daemon/store/store.ts';
import type { Column } from './column.ts';

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

/** The setting whose keys agentd does not change. */
export const KEY_SETTING = 'TOKEN_ENCRYPTION_KEY';

export const KEY_COLUMNS: readonly Column<SealingKey>[] = [
  { title: 'KEY', json: 'key', text: ({ key }) => key ?? '(none)' },
  { title: 'ROLE', json: 'role' },
  { title: 'TEXTS', json: 'texts', align: 'right' },
  { title: 'SOURCE', json: 'source', narrow: 'wrap' },
];

/**
 * All keys: first the key that seals, and last the unknown keys that have sealed texts.
 * @param store null if nothing is stored
 */
export async function sealingKeys(
  settings: Settings,
  store: Pick<Store, 'countSeals'> | null,
): Promise<SealingKey[]> {
  const { TOKEN_ENCRYPTION_KEY: set, STATE_DIR } = settings;
  const file = await readKeyFile(STATE_DIR);
  const isOff = isSealingOff(set);
  const known = [
    ...marksOf(isOff ? undefined : set).map((mark) => ({ mark, source: KEY_SETTING })),
    ...marksOf(file?.keys).map((mark) => ({ mark, source: file?.path ?? null })),
  ];
  const sealsNone = isOff || (set === undefined && sessionBackend(settings) !== 'sqlite');
  const counts = new Map(await store?.countSeals());
  const keys: SealingKey[] = [];
  for (const { mark, source } of known) {
    if (keys.some(({ key }) => key === keyIdOf(mark))) continue;
    const role = keys.length === 0 && !sealsNone ? 'seals' : 'opens';
    keys.push({ key: keyIdOf(mark), role, source, texts: counts.get(mark) ?? 0 });
    counts.delete(mark);
  }
  for (const [mark, texts] of [...counts].sort()) {
    if (mark === '') keys.push({ key: null, role: 'unsealed', source: null, texts });
    else keys.push({ key: keyIdOf(mark), role: 'unknown', source: null, texts });
  }
  return keys;
}

/** How to remove a key: agentd writes into its own key file only. @param source as in `SealingKey` */
export function howToRemove({ key, source }: SealingKey): string {
  return source === KEY_SETTING
    ? `Take it out of ${KEY_SETTING}, and restart the daemon.`
    : `Remove it with \`agentd keys remove ${key}\`.`;
}

/** The keys that only open texts, and that no stored text needs. */
export function unusedKeys(keys: readonly SealingKey[]): SealingKey[] {
  return keys.filter(({ role, texts }) => role === 'opens' && texts === 0);
}
