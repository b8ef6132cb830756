import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { styleText } from 'node:util';
import type { Dev } from './dev/prepare.ts';
import type { Daemon } from './serve.ts';

/** What `serve` prints when it is ready. */
export function describeDaemon(daemon: Daemon): string {
  return [`agentd is ready on ${daemon.url}`, ...listParts(daemon), ''].join('\n');
}

function listParts(daemon: Daemon): string[] {
  return [
    `  channels  ${daemon.channels.join(', ') || 'none'}`,
    `  state     ${daemon.store}`,
    `  memory    ${daemon.memory}`,
    `  agent     ${daemon.agent}`,
    ...(daemon.adminUrl === null
      ? []
      : [
          `  probes    ${daemon.adminUrl}/live, ${daemon.adminUrl}/ready`,
          `  metrics   ${daemon.adminUrl}/metrics`,
        ]),
  ];
}

/**
 * What `serve --dev` prints: first the page to open, last the token, whose line is long. It fits a small window, of 24
 * lines with 80 columns.
 */
export async function describeDev(daemon: Daemon, dev: Dev): Promise<string> {
  // Bold and dim only on a terminal.
  const page =
    daemon.demoPath === null
      ? []
      : [`Open in a browser: ${styleText('bold', `${daemon.url}${daemon.demoPath}`)}`, ''];
  const parts = [
    `agentd is ready on ${daemon.url}`,
    `  agent     ${daemon.agent}`,
    `  state     ${daemon.store}`,
    `  guard     ${guardInWords(daemon, dev)}`,
    ...(daemon.adminUrl === null ? [] : [`  metrics   ${daemon.adminUrl}/metrics`]),
  ];
  const lines = [...page, ...parts, '', ...describeCommands(dev), '', ...(await describeToken(daemon, dev))];
  await dev.keepEnvFile(daemon.url);
  return `${lines.join('\n')}\n`;
}

function describeCommands({ simulated: [simulated, ...others], options }: Dev): string[] {
  const program = programWords(process.argv[1] ?? 'agentd', process.cwd());
  const commands = [
    [`${program} chat${options}`, 'talk to it'],
    ...(simulated === undefined
      ? []
      : [
          [
            `${program} simulate ${simulated} 'Who am I?'${options}`,
            others.length > 0 ? `or ${others.join(', ')}` : 'as its platform would',
          ],
        ]),
    [`${program} help`, 'all commands'],
  ] as const;
  const width = Math.max(...commands.map(([command]) => command.length));
  return [
    'Commands for a second terminal in this directory (Ctrl-C stops this one):',
    ...commands.map(([command, does]) => `  ${command.padEnd(width)}  ${styleText('dim', `# ${does}`)}`),
  ];
}

/** A token, in a line that a shell reads together with the next one, and what to do with it. */
async function describeToken(daemon: Daemon, dev: Dev): Promise<string[]> {
  const [person] = dev.people;
  const token = person && (await dev.issueToken(person, daemon.services.settings));
  if (!person || !token) return [];
  const { messagePath } = daemon;
  const question = JSON.stringify({ user_id: person.id, message: 'Who am I?' });
  return [
    `A token of ${person.name} for 24 hours, also for \`/sign-in\` in the chat:`,
    // Long, and only for copying.
    styleText('dim', `  TOKEN=${token}`),
    ...(messagePath === null
      ? []
      : [
          `  curl -s ${daemon.url}${messagePath} -H 'Content-Type: application/json' -H "Authorization: Bearer $TOKEN" -d '${question}'`,
        ]),
    '',
  ];
}

/**
 * How to call this program in another terminal: as `npx agentd` if agentd is the package in the directory or is
 * installed there, otherwise by its name if the shell found it by name, otherwise by its path. Never as `npx agentd` if
 * npm would download a package for it.
 */
function programWords(path: string, cwd: string): string {
  const isInstalled = existsSync(join(cwd, 'node_modules/.bin/agentd')) || packageName(cwd) === 'agentd';
  if (isInstalled) return 'npx agentd';
  if (basename(path) === 'agentd' && basename(dirname(path)) !== '.bin') return 'agentd';
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

function packageName(cwd: string): unknown {
  try {
    return (JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as { name?: unknown } | null)?.name;
  } catch {
    // No package, or a broken one: npx would not run the program in this directory.
    return null;
  }
}

function guardInWords({ services: { settings } }: Daemon, { defaults }: Dev): string {
  if (!settings.LOOP_GUARD_ENABLED) return 'off (LOOP_GUARD_ENABLED)';
  const { LOOP_GUARD_REPEAT_THRESHOLD: equal, LOOP_GUARD_COOLDOWN_SECONDS: cooldown } = settings;
  const isRelaxed = String(equal) === defaults.LOOP_GUARD_REPEAT_THRESHOLD;
  return `${isRelaxed ? 'relaxed: ' : ''}blocks a sender for ${cooldown} s after ${equal} identical messages in ${settings.LOOP_GUARD_REPEAT_WINDOW_SECONDS} s`;
}
