import { systemClock } from '../../daemon/clock.ts';
import { SEALING_OFF } from '../../daemon/configuration/token-settings.ts';
import { isSealingOff } from '../../daemon/identity/encryption-keys.ts';
import { readKeyFile } from '../../daemon/identity/key-file.ts';
import { lostKey } from '../../daemon/identity/open-seal.ts';
import { marksOf, SEALED } from '../../daemon/identity/seal.ts';
import { ConfigurationError, type SettingProblem } from '../../daemon/settings/problem.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { openStore } from '../../daemon/store/open.ts';
import type { Store } from '../../daemon/store/store.ts';
import type { Finding } from './finding.ts';

const CHECK = 'sealing';
/** How a JWT begins: `{"` in base64url. */
const UNSEALED = 'eyJ';
const MAKE = 'the first start makes a key in STATE_DIR/encryption-key';

/** Are stored tokens sealed, and does the key open those that are stored? Makes no key. */
export async function checkSealing(settings: Settings): Promise<Finding[]> {
  const store = await openStore(settings, { role: 'administrator', clock: systemClock }).catch(() => null);
  try {
    return await look(settings, store);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(failure);
  } finally {
    await store?.close();
  }
}

/** @param store null: it does not open, which has a check of its own. */
async function look(settings: Settings, store: Store | null): Promise<Finding[]> {
  const { TOKEN_ENCRYPTION_KEY: set, STATE_DIR } = settings;
  const file = await readKeyFile(STATE_DIR);
  if (set === undefined && file === null) {
    const lost = store && (await lostKey(settings, store));
    return [
      lost ? failure(lost) : { check: CHECK, outcome: 'skipped', detail: `there is no key yet: ${MAKE}` },
    ];
  }
  const findings: Finding[] = [];
  const isOff = isSealingOff(set);
  const where = set === undefined && file !== null ? file.path : 'TOKEN_ENCRYPTION_KEY';
  if (isOff) {
    const advice = `Take TOKEN_ENCRYPTION_KEY=off away: ${MAKE}.`;
    findings.push({ check: CHECK, outcome: 'warning', detail: SEALING_OFF, advice });
  }
  if (file !== null && file.loose !== null)
    findings.push({ check: CHECK, outcome: 'warning', detail: file.loose, advice: `chmod 600 ${file.path}` });
  const marks = [...marksOf(isOff ? undefined : set), ...marksOf(file?.keys)];
  const unopened = store === null ? null : await unopenedTokens(store, new Set(marks), where);
  if (unopened !== null) findings.push(unopened);
  const unsealed = store === null || isOff ? 0 : await store.countTokens(UNSEALED);
  if (unsealed > 0) findings.push(unsealedTokens(unsealed));
  if (findings.length > 0) return findings;
  return [{ check: CHECK, outcome: 'ok', detail: `stored tokens are sealed with the key in ${where}` }];
}

/** Tokens that were stored before there was a key: the daemon seals them when it starts. */
function unsealedTokens(count: number): Finding {
  return {
    check: CHECK,
    outcome: 'warning',
    detail: `${count} stored ${count === 1 ? 'token is' : 'tokens are'} not sealed: stored before there was a key`,
    advice: 'Restart the daemon: it seals them when it starts.',
  };
}

/** Tokens that were sealed with a key that is not among these; null: there are none. */
async function unopenedTokens(
  store: Store,
  marks: ReadonlySet<string>,
  where: string,
): Promise<Finding | null> {
  const sealed = await store.countTokens(SEALED);
  const counts = await Promise.all([...marks].map((mark) => store.countTokens(mark)));
  const opened = counts.reduce((sum, count) => sum + count, 0);
  if (opened === sealed) return null;
  const detail =
    opened === 0
      ? `the key in ${where} opens none of the ${sealed} sealed tokens that are stored`
      : `${sealed - opened} of the ${sealed} sealed tokens that are stored do not open with the key in ${where}`;
  return {
    check: CHECK,
    outcome: opened === 0 ? 'failed' : 'warning',
    detail,
    advice:
      'They count as no token. Add the key that sealed them to TOKEN_ENCRYPTION_KEY, behind the one that seals, with a comma; without it, people link again.',
  };
}

function failure({ setting, problem, right }: SettingProblem): Finding {
  return { check: CHECK, outcome: 'failed', detail: `${setting} ${problem}`, advice: `Right: ${right}` };
}
