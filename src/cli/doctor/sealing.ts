import { SEALING_OFF, UNSEALED } from '../../daemon/admin/probes.ts';
import {
  examineSealing,
  KEY_SETTING,
  type SealingCondition,
  type SealingKey,
} from '../../daemon/admin/sealing.ts';
import { ConfigurationError, type SettingProblem, type Settings } from '../../daemon/admin/settings.ts';
import { openStore } from '../../daemon/admin/store.ts';
import { type Finding, findingsOf } from './finding.ts';

const { ok, warning, failed, skipped } = findingsOf('sealing');
const SET_KEY =
  'Set TOKEN_ENCRYPTION_KEY to the output of `openssl rand -base64 32`, the same on every replica.';
const MAKE = 'the first start creates a key in STATE_DIR/encryption-key';

/** Checks whether stored tokens are sealed, and whether the key decrypts them. Creates no key. */
export async function checkSealing(settings: Settings): Promise<Finding[]> {
  // If the store does not open, another check reports it.
  const store = await openStore(settings).catch(() => null);
  try {
    return findingsAbout(await examineSealing(settings, store));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(problemFinding);
  } finally {
    await store?.close();
  }
}

function findingsAbout(condition: SealingCondition): Finding[] {
  if (!condition.hasKey) {
    if (condition.isShared) return [warning(UNSEALED, SET_KEY)];
    return [condition.lost ? problemFinding(condition.lost) : skipped(`there is no key yet: ${MAKE}`)];
  }
  const { isOff, loose, tokens, source, keys } = condition;
  const findings: Finding[] = [];
  if (isOff) findings.push(warning(SEALING_OFF, `Remove TOKEN_ENCRYPTION_KEY=off: ${MAKE}.`));
  if (loose !== null) findings.push(warning(loose.warning, `chmod 600 ${loose.path}`));
  if (tokens !== null && tokens.readable !== tokens.sealed) findings.push(unreadableTokens(tokens, source));
  if (tokens !== null && !isOff && tokens.unsealed > 0) findings.push(unsealedTokens(tokens.unsealed));
  if (findings.length === 0) findings.push(ok(`stored tokens are sealed with the key in ${source}`));
  return [...findings, ...keys.filter(({ role }) => role === 'opens').map(earlierKey)];
}

/** The finding about a key from before a rotation: whether it is still used. */
function earlierKey({ key, texts, source }: SealingKey): Finding {
  return texts === 0
    ? ok(
        `the earlier key ${key} in ${source} is no longer used`,
        source === KEY_SETTING
          ? 'Take it out of TOKEN_ENCRYPTION_KEY. Keep a copy for the backups that were made while it was used, but not in the same place as the backups.'
          : `Remove it with \`agentd keys remove ${key}\`, after you have made a copy of it. Keep the copy for the backups that were made while it was used, but not in the same place as the backups.`,
      )
    : ok(
        `${texts} stored ${texts === 1 ? 'text is' : 'texts are'} still sealed with the earlier key ${key} in ${source}`,
        'The running daemon seals them again with the current key. Keep the earlier key until `agentd keys list` shows that it is no longer used.',
      );
}

/** The finding about tokens that were stored before there was a key. The daemon seals them when it starts. */
function unsealedTokens(count: number): Finding {
  return warning(
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
