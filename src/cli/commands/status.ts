import { type RunningDaemon, runningDaemons, sharesStore } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { EXIT, usageError } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { coreSettings } from '../config-location.ts';
import { channelInWords } from '../names/channel-titles.ts';
import type { Column, Output } from '../output.ts';
import {
  adminAddress,
  daemonAddress,
  expectLive,
  fetchHealth,
  fetchReadiness,
  type Health,
  URL_OPTION,
} from '../running-daemon.ts';
import { withStore } from '../with-store.ts';

type Adapter = [name: string, health: Health['adapters'][string]];

const ADAPTER_COLUMNS: readonly Column<Adapter>[] = [
  { title: 'CHANNEL', text: ([name]) => channelInWords(name) },
  {
    title: 'STATE',
    text: ([, { status }]) => status,
    color: ([, { status }]) => (status === 'ok' ? 'green' : 'yellow'),
  },
  { title: 'DETAIL', text: ([, { detail }]) => detail && String(detail), narrow: 'wrap' },
];

type ShownReplica = ReturnType<typeof shownReplica>;

const REPLICA_COLUMNS: readonly Column<ShownReplica>[] = [
  { title: 'REPLICA', text: ({ host, pid }) => `${host} ${pid}` },
  { title: 'VERSION', text: ({ version }) => version },
  { title: 'UPTIME', text: ({ uptime_seconds }) => `${uptime_seconds} s` },
  { title: 'RUNS', text: ({ runs }) => `${runs}` },
  { title: 'WAITING', text: ({ waiting }) => `${waiting}` },
  { title: 'SETTINGS', text: ({ settings }) => settings },
  { title: 'AGENT', text: ({ agent_digest }) => agent_digest },
];

export const command = defineCommand({
  description:
    'Asks the daemon at HOST and PORT of the settings, or at --url. The daemon is `degraded` while one of its channels is, and the reason is shown. If daemons share the store, they are listed with their version, uptime, load, a digest of the settings that they must agree on, and a digest of instructions, tools and model. Replicas with different digests of the latter answer differently; while they restart or reload one after the other, that is expected. With ADMIN_LISTEN, `/ready` is asked, too: it knows whether the daemon is stopping, cannot write its store, or cannot reach its long-term memory. With --live, the command asks only whether the process answers (`/live` of ADMIN_LISTEN), for the health check of a container: a daemon that is degraded or stopping is live. Exit code 1 if the daemon is degraded or not ready, 69 if it cannot be reached or accepts no more requests.',
  options: {
    ...URL_OPTION,
    '--live': 'ask only whether the process answers, at ADMIN_LISTEN of the settings',
  },
  examples: {
    'agentd status': 'Shows the state of the daemon at the configured address.',
    'agentd status --json --url https://chat.example.com/': 'Asks a remote daemon, for a script.',
  },
  json: true,
  async run({ options, out }) {
    if (options.live) return checkLive(options, out);
    const url = await daemonAddress(options);
    const [answer, readiness] = await Promise.all([
      fetchHealth(url),
      adminAddress(options).then((admin) => fetchReadiness(admin)),
    ]);
    const adapters = Object.entries(answer.adapters);
    const { status, reason } = readiness;
    const isDegraded = adapters.some(([, { status }]) => status !== 'ok');
    const replicas = await listReplicas(options);
    const health = {
      ...(isDegraded ? { ...answer, status: 'degraded' } : answer),
      ...(reason === null ? {} : { status, reason }),
      ...(replicas && { replicas: replicas.map(shownReplica) }),
    };
    out.data(health, () => {
      const table = adapters.length > 0 ? out.table(ADAPTER_COLUMNS, adapters) : 'No channel is active.\n';
      const others = replicas ? `\n${out.table(REPLICA_COLUMNS, replicas.map(shownReplica))}` : '';
      const why = reason === null ? '' : `: ${printable(reason)}`;
      return `agentd at ${url.origin} is ${printable(health.status)}${why}\n${describeAgent(answer)}\n${table}${others}`;
    });
    return isDegraded || reason !== null ? EXIT.no : EXIT.ok;
  },
});

async function checkLive(options: OptionValues, out: Output): Promise<number> {
  const admin = await adminAddress(options);
  if (admin === null)
    throw usageError(
      '--live needs ADMIN_LISTEN with a port, and no --url',
      'Set ADMIN_LISTEN, as the daemon does.',
    );
  await expectLive(admin);
  out.data({ status: 'live' }, () => `agentd at ${admin.origin} is live`);
  return EXIT.ok;
}

/** What the daemon answers with. Empty if the daemon does not say it. */
function describeAgent({ agent_digest, agents }: Health): string {
  if (typeof agent_digest !== 'string') return '';
  const each = Object.entries(agents ?? {}).map(([name, digest]) => `${name} ${digest}`);
  const several = each.length === 0 ? '' : ` (${each.join(', ')})`;
  return `${printable(`agent ${agent_digest}${several}`)}\n`;
}

/**
 * The daemons that share the store of these settings; null if only one daemon at a time can use the store, or if the
 * store cannot be reached.
 */
async function listReplicas(options: OptionValues): Promise<RunningDaemon[] | null> {
  const settings = await coreSettings(options, 'store').catch(() => null);
  if (settings === null || !sharesStore(settings)) return null;
  return withStore(options, runningDaemons).catch(() => null);
}

function shownReplica({
  host,
  pid,
  version,
  uptime_ms,
  runs,
  waiting,
  settings,
  agent_digest,
}: RunningDaemon) {
  const uptime_seconds = Math.floor(uptime_ms / 1000);
  return { host, pid, version, uptime_seconds, runs, waiting, settings, agent_digest };
}
