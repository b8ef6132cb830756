import { checkParts } from '../../daemon/check-parts.ts';
import type { Inspection, SettingProblem } from '../../daemon/configuration/configure.ts';
import { SEALING_OFF, weakSecret } from '../../daemon/configuration/token-settings.ts';
import { Secret } from '../../daemon/secret.ts';
import type { Finding } from './finding.ts';

const CHECK = 'configuration';

/** Everything that the daemon looks at before it starts: each problem and each warning is a finding. */
export async function checkConfiguration(
  found: Inspection,
): Promise<{ findings: Finding[]; problems: readonly SettingProblem[] }> {
  const problems = await checkParts(found);
  const secret = found.effective.find(({ record }) => record.name === 'JWT_SECRET_KEY')?.value;
  const weak = secret instanceof Secret ? weakSecret(secret) : null;
  const names = found.channels.map(({ plugin }) => plugin.name).join(', ');
  const findings: Finding[] = [
    ...problems.map(({ setting, value, source, problem, right }): Finding => {
      const what = value === null ? setting : `${setting}=${value}`;
      const where = source === null ? '' : ` (${source})`;
      return {
        check: CHECK,
        outcome: 'failed',
        detail: `${what}${where} ${problem}`,
        advice: `Right: ${right}`,
      };
    }),
    // The secrets and the sealing of tokens have checks of their own.
    ...found.warnings
      .filter((text) => problems.length > 0 || (text !== weak && text !== SEALING_OFF))
      .map((detail): Finding => ({ check: CHECK, outcome: 'warning', detail })),
  ];
  if (findings.length > 0) return { findings, problems };
  return {
    findings: [{ check: CHECK, outcome: 'ok', detail: `valid; channels: ${names || 'none'}` }],
    problems,
  };
}
