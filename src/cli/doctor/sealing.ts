import { systemClock } from '../../daemon/clock.ts';
import { UNSEALED } from '../../daemon/configuration/store-settings.ts';
import { SEALING_OFF } from '../../daemon/configuration/token-settings.ts';
import { isSealingOff } from '../../daemon/identity/encryption-keys.ts';
import { readKeyFile } from '../../daemon/identity/key-file.ts';
import { lostKey } from '../../daemon/identity/open-seal.ts';
import { marksOf, SEALED } from '../../daemon/identity/seal.ts';
import { ConfigurationError, type SettingProblem } from '../../daemon/settings/problem.ts';
import { sessionBackend } from '../../daemon/settings/session-backend.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { openStore } from '../../daemon/store/open.ts';
import type { Store } from '../../daemon/store/store.ts';
import { sealingKeys } from '../sealing-keys.ts';
import { type Finding, findingsOf } from './finding.ts';

const { ok, warning, failed, skipped } = findingsOf('sealing');
/** The beginning of every JWT: `{"` in base64url. */
const JWT_BEGINNING = 'eyJ';
const SET_KEY =
  'Set TOKEN_ENCRYPTION_KEY to the output of `openssl rand -base64 32`, the same on every replica.';
const MAKE = 'the first start creates a key in STATE_DIR/encryption-key';

/** Checks whether stored tokens are sealed, and whether the key decrypts them. Creates no key. */
export async function checkSealing(settings: Settings): Promise<Finding[]> {
  const store = await openStore(settings, { role: 'administrator', clock: systemClock }).catch(() => null);
  try {
    return await look(settings, store);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(problemFinding);
  } finally {
    await store?.close();
  }
}

/** @param store null if the store does not open, which another check reports */
async function look(settings: Settings, store: Store | null): Promise<Finding[]> {
  const { TOKEN_ENCRYPTION_KEY: set, STATE_DIR } = settings;
  const isShared = sessionBackend(settings) !== 'sqlite';
  if (set === undefined && isShared) return [warning(UNSEALED, SET_KEY)];
  const file = await readKeyFile(STATE_DIR);
  if (set === undefined && file === null) {
    const lost = store && (await lostKey(settings, store));
    return [lost ? problemFinding(lost) : skipped(`there is no key yet: ${MAKE}`)];
  }
  const findings: Finding[] = [];
  const isOff = isSealingOff(set);
  const where = set === undefined && file !== null ? file.path : 'TOKEN_ENCRYPTION_KEY';
  if (isOff) findings.push(warning(SEALING_OFF, `Remove TOKEN_ENCRYPTION_KEY=off: ${MAKE}.`));
  if (file !== null && file.loose !== null) findings.push(warning(file.loose, `chmod 600 ${file.path}`));
  const marks = [...marksOf(isOff ? undefined : set), ...marksOf(file?.keys)];
  const unreadable = store === null ? null : await unreadableTokens(store, new Set(marks), where);
  if (unreadable !== null) findings.push(unreadable);
  const unsealed = store === null || isOff ? 0 : await store.countTokens(JWT_BEGINNING);
  if (unsealed > 0) findings.push(unsealedTokens(unsealed));
  const earlier = store === null || isOff ? [] : await earlierKeys(settings, store);
  if (findings.length > 0) return [...findings, ...earlier];
  return [ok(`stored tokens are sealed with the key in ${where}`), ...earlier];
}

/** Reports for each key from before a rotation whether it is still used. */
async function earlierKeys(settings: Settings, store: Store): Promise<Finding[]> {
  const keys = await sealingKeys(settings, store);
  return keys
    .filter(({ role }) => role === 'opens')
    .map(({ key, texts, source }) =>
      texts === 0
        ? ok(
            `the earlier key ${key} in ${source} is no longer used`,
            source === 'TOKEN_ENCRYPTION_KEY'
              ? 'Take it out of TOKEN_ENCRYPTION_KEY. Keep a copy for the backups that were made while it was used, but not in the same place as the backups.'
              : `Remove it with \`agentd keys remove ${key}\`, after you have made a copy of it. Keep the copy for the backups that were made while it was used, but not in the same place as the backups.`,
          )
        : ok(
            `${texts} stored ${texts === 1 ? 'text is' : 'texts are'} still sealed with the earlier key ${key} in ${source}`,
            'The running daemon seals them again with the current key. Keep the earlier key until `agentd keys list` shows that it is no longer used.',
          ),
    );
}

/** The finding about tokens that were stored before there was a key. The daemon seals them when it starts. */
function unsealedTokens(count: number): Finding {
  return warning(
    `${count} stored ${count === 1 ? 'token is' : 'tokens are'} not sealed, because there was no key when they were stored`,
    'Restart the daemon: it seals them when it starts.',
  );
}

/** The finding about tokens that were sealed with another key. Null if there are none. */
async function unreadableTokens(
  store: Store,
  marks: ReadonlySet<string>,
  where: string,
): Promise<Finding | null> {
  const sealed = await store.countTokens(SEALED);
  const counts = await Promise.all([...marks].map((mark) => store.countTokens(mark)));
  const readable = counts.reduce((sum, count) => sum + count, 0);
  if (readable === sealed) return null;
  const advice =
    'They are ignored. Add the key that sealed them to TOKEN_ENCRYPTION_KEY, after the current key and a comma. Without it, people must link again.';
  return readable === 0
    ? failed(
        sealed === 1
          ? `the key in ${where} does not decrypt the sealed token in the store`
          : `the key in ${where} decrypts none of the ${sealed} sealed tokens in the store`,
        advice,
      )
    : warning(
        `the key in ${where} does not decrypt ${sealed - readable} of the ${sealed} sealed tokens in the store`,
        advice,
      );
}

function problemFinding({ setting, problem, right }: SettingProblem): Finding {
  return failed(`${setting} ${problem}`, `Right: ${right}`);
}
