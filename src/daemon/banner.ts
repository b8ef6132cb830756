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

/** What `serve --dev` prints: first the page to open, then what to paste. It fits a small window: ten lines. */
export async function describeDev(daemon: Daemon, dev: Dev): Promise<string> {
  const [person] = dev.people;
  const token = person && (await dev.issueToken(person, daemon.services.settings));
  const lines: string[] = [];
  // Bold only on a terminal.
  if (daemon.demoPath)
    lines.push(`Open in a browser: ${styleText('bold', `${daemon.url}${daemon.demoPath}`)}`);
  lines.push(`agentd is ready on ${daemon.url}`);
  // The token is long, so it is printed once, in a line that a shell reads together with the next one.
  if (person && token) {
    const isAsked = daemon.messagePath !== null;
    lines.push(
      isAsked
        ? `Ask as ${person.name}, with a token that is valid for 24 hours:`
        : `A token of ${person.name}, valid for 24 hours:`,
      `  TOKEN=${token}`,
    );
    if (isAsked)
      lines.push(
        `  curl -s ${daemon.url}${daemon.messagePath} -H 'Content-Type: application/json' -H "Authorization: Bearer $TOKEN" -d '${JSON.stringify({ user_id: person.id, message: 'Who am I?' })}'`,
      );
  }
  const program = programWords(process.argv[1] ?? 'agentd', process.cwd());
  const [simulated, ...others] = dev.simulated;
  lines.push('Commands for a second terminal in this directory (`help` lists all):', `  ${program} chat`);
  if (simulated) {
    const also = others.length > 0 ? `  # as its platform would; or ${others.join(', ')}` : '';
    lines.push(`  ${program} simulate ${simulated} 'Who am I?'${also}`);
  }
  await dev.keepEnvFile(daemon.url);
  lines.push(
    `Agent: ${daemon.agent}. State: ${daemon.store}. Guard: ${guardInWords(daemon, dev)}. Ctrl-C stops it.`,
  );
  if (daemon.adminUrl !== null) lines.push(`Probes and metrics: ${daemon.adminUrl}`);
  return `${lines.join('\n')}\n`;
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
  return `${isRelaxed ? 'relaxed for trying it out: ' : ''}${equal} identical messages within ${settings.LOOP_GUARD_REPEAT_WINDOW_SECONDS} s block the sender for ${cooldown} s`;
}
