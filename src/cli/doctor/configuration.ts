import { SEALING_OFF, weakSecrets } from '../../daemon/admin/probes.ts';
import { checkStart, type Inspection, type SettingProblem } from '../../daemon/admin/settings.ts';
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
