import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { isOpenToAll } from '../files/make-directory.ts';
import type { Log } from '../process/log.ts';
import { sharesStore } from '../settings/backends.ts';
import { ConfigurationError, createProblem, type SettingProblem } from '../settings/problem.ts';
import type { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import {
  isSealingOff,
  type KeyFile,
  keyFilePath,
  keysIn,
  makeKeyFile,
  newKeyAdvice,
  readKeyFile,
  WatchedKeyFile,
} from './key-file.ts';

/**
 * Seals stored tokens with AES-256-GCM. A sealed token names the key that sealed it, and is bound to its record: it
 * cannot be opened if it is copied to another row. Without a key, tokens are stored as they are.
 */
export interface Seal {
  /** @param record the record that the token belongs to: `session:<session id>:<channel user>`, or a link's key */
  close(token: string, record: string): string;
  /**
   * The unsealed token. Null if no key opens it, or if it belongs to another record. It then counts as if there were no
   * token.
   */
  open(stored: string, record: string): string | null;
  /**
   * Keyed hashes (HMAC-SHA256) of a text, one for each key, first that of the key that seals. All daemons with the same
   * keys have the same hashes, so a stored hash is compared with each of them. Without a key, the hash is not secret:
   * then the tokens beside it are stored as they are, too.
   * @param purpose keeps the hashes of one kind of text apart from those of another
   */
  digests(text: string, purpose: string): readonly [string, ...string[]];
  /** The marks of all keys, first the mark of the key that seals. Empty if there is no key to seal with. */
  readonly marks: readonly string[];
}

/** The beginning of each sealed token. No JWT begins with it. */
export const SEALED = 'sealed.v1.';

/** Length of the id of a key, characters. */
const ID_LENGTH = 8;

/** Length of a mark, characters. A mark is the beginning of the texts that one key has sealed. */
const MARK_LENGTH = SEALED.length + ID_LENGTH + 1;

/** The mark that a stored text begins with; empty if it is not sealed. */
export function readMark(stored: string): string {
  return stored.startsWith(SEALED) ? stored.slice(0, MARK_LENGTH) : '';
}

export function parseKeyId(mark: string): string {
  return mark.slice(SEALED.length, -1);
}

/** Keys that may change while the daemon runs. */
export interface KeySource {
  /** The current keys. The same object as before if they have not changed. */
  current(): Secret;
}

/**
 * @param keys comma-separated, each 32 bytes in base64. The first key seals, and each of them can unseal. Undefined to
 * seal nothing
 * @param earlier further keys of the same form, which can only unseal
 */
export function createSeal(keys: Secret | KeySource | undefined, earlier?: Secret): Seal {
  const source = keys !== undefined && 'current' in keys ? keys : { current: () => keys };
  let known = source.current();
  let own = deriveKeys(known);
  const others = deriveKeys(earlier);
  /** Reads the keys again. Returns whether they have changed. */
  const look = () => {
    const now = source.current();
    if (now === known) return false;
    known = now;
    own = deriveKeys(now);
    return true;
  };
  const findKey = (id: string | undefined) => [...own, ...others].find((key) => key.id === id);
  return {
    get marks() {
      look();
      return own.length === 0 ? [] : [...own, ...others].map(({ mark }) => mark);
    },
    digests(text, purpose) {
      look();
      const [first = NO_KEY, ...further] = own.length === 0 ? [] : [...own, ...others];
      const digest = ({ digestKey }: Pick<HeldKey, 'digestKey'>) =>
        createHmac('sha256', digestKey(purpose)).update(text).digest('base64url');
      return [digest(first), ...further.map(digest)];
    },
    close(token, record) {
      look();
      const [first] = own;
      if (!first) return token;
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', first.key, iv);
      cipher.setAAD(Buffer.from(`${first.id}\n${record}`));
      const sealed = Buffer.concat([iv, cipher.update(token, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${first.mark}${sealed.toString('base64url')}`;
    },
    open(stored, record) {
      // Tokens from before a key was set stay readable.
      if (!stored.startsWith(SEALED)) return stored;
      const [id, body] = stored.slice(SEALED.length).split('.');
      const key = findKey(id) ?? (look() ? findKey(id) : undefined);
      const bytes = Buffer.from(body ?? '', 'base64url');
      if (!key || bytes.length < 28) return null;
      const decipher = createDecipheriv('aes-256-gcm', key.key, bytes.subarray(0, 12), { authTagLength: 16 });
      decipher.setAAD(Buffer.from(`${key.id}\n${record}`));
      decipher.setAuthTag(bytes.subarray(-16));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
      } catch {
        // Authentication failed: the token was altered, or belongs to another record. In both cases, it is treated as
        // if there were no token.
        return null;
      }
    },
  };
}

interface HeldKey {
  id: string;
  key: KeyObject;
  mark: string;
  /** The key of the hashes for one purpose. */
  digestKey(purpose: string): KeyObject;
}

const NO_KEY = { digestKey: createDigestKeys(createSecretKey(Buffer.alloc(32))) };

export function listMarks(keys: Secret | undefined): string[] {
  return deriveKeys(keys).map(({ mark }) => mark);
}

function deriveKeys(keys: Secret | undefined): HeldKey[] {
  return (keys === undefined ? [] : keysIn(keys)).map((key) => {
    const id = hash('sha256', key, 'base64url').slice(0, ID_LENGTH);
    // The key is imported once. If it were imported for each use, sealing would cost three times as much.
    const imported = createSecretKey(key);
    return { id, key: imported, mark: `${SEALED}${id}.`, digestKey: createDigestKeys(imported) };
  });
}

/** Derives each key once: a text of a person may have thousands of parts that are hashed. */
function createDigestKeys(key: KeyObject): HeldKey['digestKey'] {
  const derived = new Map<string, KeyObject>();
  return (purpose) => {
    const known = derived.get(purpose);
    if (known) return known;
    const made = createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `agentd ${purpose}`, 32)));
    derived.set(purpose, made);
    return made;
  };
}

/** How many stored texts a key has sealed. */
export interface SealCount {
  /** Live tokens, texts of actions, comments and recordings. */
  texts: number;
  /** Live tokens, and actions, each once. */
  tokens: number;
}

interface SealCounts {
  /** By mark (`Store.countSeals`). */
  countSeals(): Promise<ReadonlyMap<string, SealCount>>;
}

export type SealSettings = Pick<Settings, 'STATE_DIR' | 'TOKEN_ENCRYPTION_KEY'> &
  Partial<Pick<Settings, 'SESSION_BACKEND' | 'REDIS_URL'>>;

/**
 * The seal of the daemon (agentd-settings(5), TOKEN_ENCRYPTION_KEY). Without a key in the settings, it uses the key in
 * STATE_DIR, which the first start makes and which `agentd keys rotate` can change while the daemon runs. If another
 * key is set later, the key in STATE_DIR still opens the tokens that it has sealed. A store that several daemons share
 * is sealed only with the key in the settings, since only that key can be the same for all of them.
 *
 * @throws ConfigurationError if the key file cannot be used, or is missing and the store needs it.
 */
export async function openSeal(
  settings: SealSettings,
  store: SealCounts,
  log: Pick<Log, 'warn' | 'info'>,
): Promise<Seal> {
  let file = await readKeyFile(settings.STATE_DIR);
  if (file === null && settings.TOKEN_ENCRYPTION_KEY === undefined && !sharesStore(settings)) {
    const lost = await lostKey(settings, store);
    if (lost !== null) throw new ConfigurationError([lost]);
    await makeKeyFile(settings.STATE_DIR);
    file = await readKeyFile(settings.STATE_DIR);
    log.info(
      { path: file?.path },
      'made a key that seals stored tokens; keep a copy of it, but not in the same place as your backups',
    );
  }
  if (file !== null && file.loose !== null) log.warn({}, file.loose);
  if (isOpenToAll(settings.STATE_DIR))
    log.warn(
      {},
      `every user of this machine can make and replace files in STATE_DIR, and so act as any person; run: chmod 700 ${settings.STATE_DIR}`,
    );
  return sealWith(settings, file, file && new WatchedKeyFile(file, log));
}

/** The seal of an administrator's command. Unlike the daemon, the command never makes a key. */
interface AdministratorSeal {
  seal: Seal;
  /** False if the command does not know the key of the daemon, so that nothing may be stored. */
  knowsKey: boolean;
}

/** Opens the seal for an administrator's command. @throws ConfigurationError if the key file cannot be used */
export async function openAdministratorSeal(settings: SealSettings): Promise<AdministratorSeal> {
  const file = await readKeyFile(settings.STATE_DIR);
  return {
    seal: sealWith(settings, file),
    knowsKey: file !== null || settings.TOKEN_ENCRYPTION_KEY !== undefined || sharesStore(settings),
  };
}

/**
 * The problem of a daemon that starts without the key that sealed the stored tokens; null if no sealed token is stored.
 */
export async function lostKey(
  { STATE_DIR }: SealSettings,
  store: SealCounts,
): Promise<SettingProblem | null> {
  const sealed = countSealed(await store.countSeals());
  if (sealed === 0) return null;
  const path = keyFilePath(STATE_DIR);
  return createProblem(
    'TOKEN_ENCRYPTION_KEY',
    `is not set, there is no ${path}, and the store contains ${sealed} sealed ${sealed === 1 ? 'token' : 'tokens'}`,
    `the key that sealed them, as TOKEN_ENCRYPTION_KEY or in that file: ${newKeyAdvice(path)}`,
  );
}

/** The number of tokens that any key has sealed. @param counts as of `Store.countSeals` */
export function countSealed(counts: ReadonlyMap<string, SealCount>): number {
  return [...counts].reduce((sum, [mark, { tokens }]) => (mark === '' ? sum : sum + tokens), 0);
}

/**
 * Makes a seal from the settings and the key file.
 * @param watched the same file, for a daemon that runs while the file may change
 */
function sealWith(settings: SealSettings, file: KeyFile | null, watched?: WatchedKeyFile | null): Seal {
  const { TOKEN_ENCRYPTION_KEY: set } = settings;
  if (isSealingOff(set) || (set === undefined && sharesStore(settings)))
    return createSeal(undefined, file?.keys);
  return set === undefined ? createSeal(watched ?? file?.keys) : createSeal(set, file?.keys);
}
