import type { Log } from '../process/log.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { sharesStore } from '../settings/session-backend.ts';
import type { Settings } from '../settings/settings.ts';
import { isSealingOff } from './encryption-keys.ts';
import { type KeyFile, keyFilePath, makeKeyFile, newKeyAdvice, readKeyFile } from './key-file.ts';
import { createSeal, SEALED, type Seal } from './seal.ts';
import { WatchedKeyFile } from './watched-key-file.ts';

/** Counts the live tokens whose stored value begins with the prefix. */
interface TokenCounts {
  countTokens(prefix: string): Promise<number>;
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
  store: TokenCounts,
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
  return sealWith(settings, file, file && new WatchedKeyFile(file, log));
}

/** The seal of an administrator's command. Unlike the daemon, the command never makes a key. */
export interface AdministratorSeal {
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
  store: TokenCounts,
): Promise<SettingProblem | null> {
  const sealed = await store.countTokens(SEALED);
  if (sealed === 0) return null;
  const path = keyFilePath(STATE_DIR);
  return {
    setting: 'TOKEN_ENCRYPTION_KEY',
    value: null,
    source: null,
    problem: `is not set, there is no ${path}, and the store contains ${sealed} sealed ${sealed === 1 ? 'token' : 'tokens'}`,
    right: `the key that sealed them, as TOKEN_ENCRYPTION_KEY or in that file: ${newKeyAdvice(path)}`,
  };
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
