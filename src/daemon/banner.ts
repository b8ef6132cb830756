import { relative } from 'node:path';
import type { Dev } from './dev/prepare.ts';
import { SAMPLE_PEOPLE } from './dev/sample-people.ts';
import type { Daemon } from './serve.ts';

/** What `serve` prints when it is ready. */
export function describeDaemon(daemon: Daemon): string {
  return [
    `agentd is ready on ${daemon.url}`,
    `  channels  ${daemon.channels.join(', ') || 'none'}`,
    `  state     ${daemon.store}`,
    `  agent     ${daemon.agent}`,
    ...(daemon.adminUrl === null ? [] : [`  probes    ${daemon.adminUrl}/live, ${daemon.adminUrl}/ready`]),
    '',
  ].join('\n');
}

/** What `serve --dev` prints: all that it takes to try agentd by pasting a line. */
export async function describeDev(daemon: Daemon, dev: Dev): Promise<string> {
  const [person] = SAMPLE_PEOPLE;
  const token = person && (await dev.issueToken(person, daemon.house.settings));
  const lines = [describeDaemon(daemon).trimEnd()];
  if (dev.sampleApiUrl) {
    lines.push(
      `  API       ${dev.sampleApiUrl} (sample: ${SAMPLE_PEOPLE.map(({ email }) => email).join(', ')})`,
    );
  }
  if (daemon.demoPath) lines.push(`  try it    ${daemon.url}${daemon.demoPath}`);
  const ask = (headers: string, user_id: string, message: string) =>
    `  curl -s ${daemon.url}${daemon.messagePath} -H 'Content-Type: application/json'${headers} -d '${JSON.stringify({ user_id, message })}'`;
  if (person && token && daemon.messagePath) {
    lines.push(
      '',
      `A token of ${person.name}, good for 24 hours:`,
      `  ${token}`,
      '',
      `Ask as ${person.name}:`,
      ask(` -H 'Authorization: Bearer ${token}'`, person.id, 'Who am I?'),
    );
  }
  if (daemon.messagePath) lines.push('', 'Ask as nobody:', ask('', 'visitor', 'Who am I?'));
  const [simulated, ...others] = dev.simulated;
  if (simulated) {
    const also = others.length > 0 ? ` (or ${others.join(', ')})` : '';
    lines.push(
      '',
      `Write as a platform would, in a second terminal${also}:`,
      `  agentd simulate ${simulated} 'Who am I?'`,
    );
  }
  const envFile = relative(process.cwd(), await dev.keepEnvFile(daemon.url));
  lines.push(
    '',
    'All other commands, in a second terminal:',
    `  agentd sessions list --env-file ${envFile}`,
    '',
    'Ctrl-C stops it.',
    '',
  );
  return lines.join('\n');
}
