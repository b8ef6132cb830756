import { SEALING_OFF, UNSEALED } from '../../daemon/admin/probes.ts';
import {
  examineSealing,
  KEY_SETTING,
  removalCommand,
  type SealingCondition,
  type SealingKey,
} from '../../daemon/admin/sealing.ts';
import { ConfigurationError, type SettingProblem, type Settings } from '../../daemon/admin/settings.ts';
import {
  type KeyCensus,
  memoryBackend,
  openStore,
  type Store,
  StoreLocked,
  StoreMissing,
  withMemories,
  withStore,
} from '../../daemon/admin/store.ts';
import { describeCause, explainError, RESTORE } from '../report-error.ts';
import { createFindings, type Finding } from './finding.ts';

const storeCheck = createFindings('store');
const keys = createFindings('store keys');
const CONFIGURE_SERVER =
  'Change redis.conf, or use `CONFIG SET` and `CONFIG REWRITE`, then run `agentd doctor` again.';
const FREE_SPACE = 'Free space on the volume of STATE_DIR. Expiring sessions free some space, too.';

/** Checks whether the store opens, has a version that fits this program, can be written, and is intact. */
export async function checkStore(settings: Settings): Promise<Finding[]> {
  try {
    return await withStore(settings, async (store) => {
      const damages = (await store.maintenance?.examine()) ?? [];
      if (damages.length > 0)
        return damages.map((damage) => storeCheck.failed(`${store.description}: ${damage}`, RESTORE));
      await store.check();
      const { writable, detail } = store.condition();
      if (!writable && detail !== null) return [storeCheck.failed(detail, FREE_SPACE)];
      const advice = (await store.advice()).map((found) => storeCheck.warning(found, CONFIGURE_SERVER));
      const intact = storeCheck.ok(`${store.description} is intact and can be written`);
      return [...advice, intact, ...keysIn(await store.census())];
    });
  } catch (error) {
    return [openFailure(error)];
  }
}

/**
 * How many keys there are of each kind, and whether some never expire. Names of keys contain ids of people, so no name
 * is shown.
 */
function keysIn(census: KeyCensus | null): Finding[] {
  if (census === null) return [];
  const { kinds, isWhole } = census;
  const counts = [...kinds].map(([kind, { keys }]) => `${keys} ${kind}`).join(', ') || 'none';
  const part = isWhole ? '' : ' among the keys that were read';
  const endless = [...kinds].flatMap(([kind, one]) => (one.endless > 0 ? [`${one.endless} ${kind}`] : []));
  return [
    keys.ok(`keys by kind${part}: ${counts}`),
    ...(endless.length === 0
      ? []
      : [
          keys.warning(
            `keys that should expire but never do${part}: ${endless.join(', ')}`,
            'Did another program write or copy them, without their expiry? Set one with EXPIRE, or delete them; report it if agentd wrote them.',
          ),
        ]),
  ];
}

function openFailure(error: unknown): Finding {
  if (error instanceof StoreMissing) return storeCheck.skipped(error.message);
  if (error instanceof StoreLocked)
    return storeCheck.failed(
      `${error.message} That daemon runs a different version of agentd, and locks the store`,
      'Restart that daemon with this version.',
    );
  const { message, advice } = explainError(error);
  return storeCheck.failed(message, advice);
}

const renewal = createFindings('token renewal');

/** Checks whether the issuer accepted this service as a client when a token was last renewed. */
export async function checkRenewal(settings: Settings): Promise<Finding[]> {
  if (settings.TOKEN_RENEWAL_URL === undefined) return [];
  const refusal = await withStoreIfItOpens(settings, async (store) => store?.linkRenewals.refused());
  if (!refusal) return [renewal.ok('no refusal by TOKEN_RENEWAL_URL is known')];
  return [
    renewal.failed(
      `TOKEN_RENEWAL_URL refuses agentd as a client (${refusal.reason}): no token of a link is renewed`,
      'Compare TOKEN_RENEWAL_CLIENT_ID and TOKEN_RENEWAL_CLIENT_SECRET with the settings of the client at the issuer, and check that it may exchange tokens.',
    ),
  ];
}

/** Runs the work with the store, or with null if it does not open, which another check reports. */
async function withStoreIfItOpens<T>(
  settings: Settings,
  work: (store: Store | null) => Promise<T>,
): Promise<T> {
  const store = await openStore(settings).catch(() => null);
  try {
    return await work(store);
  } finally {
    await store?.close();
  }
}

const memory = createFindings('memory');

/**
 * Checks whether long-term memory can be reached and has the schema of this version. The embedded store has its own
 * check.
 */
export async function checkMemory(settings: Settings): Promise<Finding> {
  const backend = memoryBackend(settings);
  if (backend === 'none') return memory.skipped('MEMORY_BACKEND is none: nothing is remembered');
  if (backend === 'sqlite') return memory.ok('long-term memory is in the store');
  return withMemories(settings, async (memories) => {
    try {
      await memories?.check();
      return memory.ok(`${memories?.description} can be reached and has the schema of this version`);
    } catch (error) {
      return memory.failed(
        `${memories?.description}: ${describeCause(error as Error)}`,
        'Check DATABASE_URL, that the database runs, and that this machine can reach it. Until then messages are answered without memory.',
      );
    }
  });
}

const sealing = createFindings('sealing');
const SET_KEY =
  'Set TOKEN_ENCRYPTION_KEY to the output of `openssl rand -base64 32`, the same on every replica.';
const MAKE = 'the first start creates a key in STATE_DIR/encryption-key';

/** Checks whether stored tokens are sealed, and whether the key decrypts them. Creates no key. */
export async function checkSealing(settings: Settings): Promise<Finding[]> {
  try {
    return findingsAbout(await withStoreIfItOpens(settings, (store) => examineSealing(settings, store)));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(problemFinding);
  }
}

function findingsAbout(condition: SealingCondition): Finding[] {
  if (!condition.hasKey) {
    if (condition.isShared) return [sealing.warning(UNSEALED, SET_KEY)];
    return [
      condition.lost ? problemFinding(condition.lost) : sealing.skipped(`there is no key yet: ${MAKE}`),
    ];
  }
  const { isOff, loose, tokens, source, keys } = condition;
  const findings: Finding[] = [];
  if (isOff) findings.push(sealing.warning(SEALING_OFF, `Remove TOKEN_ENCRYPTION_KEY=off: ${MAKE}.`));
  if (loose !== null) findings.push(sealing.warning(loose.warning, `chmod 600 ${loose.path}`));
  if (tokens !== null && tokens.readable !== tokens.sealed) findings.push(unreadableTokens(tokens, source));
  if (tokens !== null && !isOff && tokens.unsealed > 0) findings.push(unsealedTokens(tokens.unsealed));
  if (findings.length === 0) findings.push(sealing.ok(`stored tokens are sealed with the key in ${source}`));
  return [...findings, ...keys.filter(({ role }) => role === 'opens').map(earlierKey)];
}

/** The finding about a key from before a rotation: whether it is still used. */
function earlierKey(earlier: SealingKey): Finding {
  const { key, texts, source } = earlier;
  return texts === 0
    ? sealing.ok(
        `the earlier key ${key} in ${source} is no longer used`,
        source === KEY_SETTING
          ? 'Take it out of TOKEN_ENCRYPTION_KEY. Keep a copy for the backups that were made while it was used, but not in the same place as the backups.'
          : `Remove it with \`${removalCommand(earlier)}\`, after you have made a copy of it. Keep the copy for the backups that were made while it was used, but not in the same place as the backups.`,
      )
    : sealing.ok(
        `${texts} stored ${texts === 1 ? 'text is' : 'texts are'} still sealed with the earlier key ${key} in ${source}`,
        'The running daemon seals them again with the current key. Keep the earlier key until `agentd keys list` shows that it is no longer used.',
      );
}

/** The finding about tokens that were stored before there was a key. The daemon seals them when it starts. */
function unsealedTokens(count: number): Finding {
  return sealing.warning(
    `${count} stored ${count === 1 ? 'token is' : 'tokens are'} not sealed, because there was no key when they were stored`,
    'Restart the daemon: it seals them when it starts.',
  );
}

/** The finding about tokens that were sealed with another key. @param where the setting or file of the known keys */
function unreadableTokens(
  { sealed, readable }: { sealed: number; readable: number },
  where: string,
): Finding {
  const advice =
    'They are ignored. Add the key that sealed them to TOKEN_ENCRYPTION_KEY, after the current key and a comma. Without it, people must link again.';
  return readable === 0
    ? sealing.failed(
        sealed === 1
          ? `the key in ${where} does not decrypt the sealed token in the store`
          : `the key in ${where} decrypts none of the ${sealed} sealed tokens in the store`,
        advice,
      )
    : sealing.warning(
        `the key in ${where} does not decrypt ${sealed - readable} of the ${sealed} sealed tokens in the store`,
        advice,
      );
}

function problemFinding({ setting, problem, right }: SettingProblem): Finding {
  return sealing.failed(`${setting} ${problem}`, `Right: ${right}`);
}
