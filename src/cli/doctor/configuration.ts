import { SEALING_OFF, weakSecrets } from '../../daemon/admin/probes.ts';
import {
  checkStart,
  type Inspection,
  type SettingProblem,
  type Settings,
} from '../../daemon/admin/settings.ts';
import { Secret } from '../../daemon/admin/texts.ts';
import { type Finding, findingsOf } from './finding.ts';

const { ok, warning, failed } = findingsOf('configuration');

/** Runs the checks that the daemon runs before it starts. Each problem and each warning is a finding. */
export async function checkConfiguration(
  found: Inspection,
): Promise<{ findings: Finding[]; problems: readonly SettingProblem[] }> {
  const { problems } = await checkStart(found);
  const secret = found.effective.find(({ record }) => record.name === 'JWT_SECRET_KEY')?.value;
  const weak = problems.length === 0 && secret instanceof Secret ? weakSecrets(secret) : [];
  const names = found.channels.map(({ plugin }) => plugin.name).join(', ');
  const findings = [
    ...problems.map(({ setting, value, source, problem, right }) => {
      const what = value === null ? setting : `${setting}=${value}`;
      return failed(`${what}${source === null ? '' : ` (${source})`} ${problem}`, `Right: ${right}`);
    }),
    // Secrets and sealing have their own checks.
    ...found.warnings
      .filter(
        (text) =>
          problems.length > 0 || (text !== SEALING_OFF && !weak.some(({ warning: same }) => text === same)),
      )
      .map((text) => warning(text)),
  ];
  return { findings: findings.length > 0 ? findings : [ok(`valid; channels: ${names || 'none'}`)], problems };
}

const secrets = findingsOf('secrets');

/** Checks whether the secret that signs tokens is strong enough. */
export function checkSecrets({ JWT_ALGORITHM, JWT_SECRET_KEY }: Settings): Finding {
  if (JWT_ALGORITHM !== 'HS256') return secrets.ok('tokens are verified with a public key');
  const weak = JWT_SECRET_KEY ? weakSecrets(JWT_SECRET_KEY) : [];
  if (weak.length === 0) return secrets.ok('JWT_SECRET_KEY is long enough for HS256');
  return secrets.warning(
    weak.map((one) => one.warning).join('. '),
    'Anyone who guesses it can sign tokens for any person. Use a longer secret, here and on the site: `openssl rand -base64 32`.',
  );
}
