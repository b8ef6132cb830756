import type { Settings } from '../../daemon/admin/settings.ts';
import { type Store, StoreUnavailable } from '../../daemon/admin/store.ts';
import { printable, printableLines } from '../../daemon/admin/texts.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { coreSettings } from '../config-location.ts';
import { channelInWords } from '../names/channel-titles.ts';
import { durationInWords, isoTime, wholeNumber } from '../names/typed-values.ts';
import { type Column, createOutput, type Output } from '../output.ts';
import {
  adminAddress,
  daemonAddress,
  fetchHealth,
  fetchLoad,
  type Health,
  URL_OPTION,
  type UrlOption,
} from '../running-daemon.ts';
import { showLive } from '../top/live-screen.ts';
import {
  type Snapshot,
  type TopChannel,
  type TopFailure,
  TRACES_MAX,
  takeSnapshot,
} from '../top/snapshot.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description: [
    'For each channel: messages that are being answered (RUN), that wait for a run (WAIT), whose reply is not sent yet (SEND), and that have failed for good (FAIL); the age of the oldest that waits or is not sent (AGE); how many messages of the last five minutes were answered (OK), failed (ERR) or were refused (NO), of the newest 1000; and the time within which 95 % of the answers were ready (P95). Below: why a channel has the state `warn` (degraded) or `away` (its platform cannot be reached), and the newest failures.',
    'On a terminal the screen is drawn again every two seconds, until you press q or Ctrl-C. Otherwise, and with --once or --json, it is printed once. It is read from the store. If the daemon can be reached, it says which channels are degraded. With ADMIN_LISTEN, it also says how many messages it answers now; without it, messages that are answered in the response of their request are not among those that run.',
  ].join('\n\n'),
  options: {
    ...URL_OPTION,
    '--once': 'print once, and exit',
    '--interval <seconds>': { sentence: 'time between two drawings, 1 to 60', default: 2 },
  },
  examples: {
    'agentd top': 'Watches the daemon.',
    'agentd top --once --json': 'Prints the same figures as a JSON object, for a script.',
  },
  json: true,
  async run({ options, out }) {
    const interval = wholeNumber('--interval', options.interval, { min: 1, max: 60 });
    const { stdin, stdout } = process;
    if (out.json || options.once || !stdout.isTTY || !stdin.isTTY) {
      const snapshot = await look(options);
      out.data(toView(snapshot), () => renderLines(snapshot, out).join('\n'));
      return;
    }
    const draw = async () => {
      const screen = createOutput({ json: false, stdout, stderr: process.stderr });
      try {
        return renderLines(await look(options), screen);
      } catch (error) {
        // The next drawing may succeed again.
        if (error instanceof StoreUnavailable) return [printable(error.message)];
        throw error;
      }
    };
    await showLive({ stdin, stdout }, draw, interval * 1000);
  },
});

async function look(options: UrlOption): Promise<Snapshot> {
  const [stored, health, load] = await Promise.all([
    withStore(options, readStore),
    findHealth(options),
    loadOfDaemon(options),
  ]);
  return takeSnapshot({ ...stored, health, load, now: Date.now() });
}

/** Null if the daemon does not answer, or if the settings do not say where it is. */
async function findHealth(options: UrlOption): Promise<Health | null> {
  try {
    return await fetchHealth(await daemonAddress(options));
  } catch (error) {
    // A wrong --url is a mistake; a daemon that is down is something to show.
    if (error instanceof CliError && (error.exitCode === EXIT.unavailable || options.url === undefined))
      return null;
    throw error;
  }
}

async function readStore({ inbox, streams, outages, guard, traces }: Store) {
  return {
    inbox: await inbox.counts(),
    streams: await streams.counts(),
    outages: await outages.list(),
    guard: await guard.list(),
    traces: await traces.recent(TRACES_MAX),
  };
}

async function loadOfDaemon(options: UrlOption) {
  const admin = await adminAddress(options);
  if (admin === null) return null;
  const { ADMIN_TOKEN }: Pick<Settings, 'ADMIN_TOKEN'> = await coreSettings(options, 'address');
  return fetchLoad(admin, ADMIN_TOKEN);
}

/** The table has at most 80 characters in a line. */
const CHANNEL_COLUMNS: readonly Column<TopChannel>[] = [
  { title: 'CHANNEL', text: ({ channel }) => channelInWords(channel) },
  { title: 'STATE', text: ({ state }) => (state === 'degraded' ? 'warn' : (state ?? '?')) },
  { title: 'RUN', text: ({ running }) => String(running), align: 'right' },
  { title: 'WAIT', text: ({ waiting }) => String(waiting), align: 'right' },
  { title: 'SEND', text: ({ unsent }) => String(unsent), align: 'right' },
  { title: 'FAIL', text: ({ failed }) => String(failed), align: 'right' },
  { title: 'AGE', text: ({ oldest_seconds }) => ageInWords(oldest_seconds), align: 'right' },
  { title: 'OK', text: ({ recent }) => String(recent.answered), align: 'right' },
  { title: 'ERR', text: ({ recent }) => String(recent.failed), align: 'right' },
  { title: 'NO', text: ({ recent }) => String(recent.refused), align: 'right' },
  { title: 'P95', text: ({ p95_ms }) => (p95_ms === null ? '' : inSeconds(p95_ms)), align: 'right' },
];

/** The larger unit of an age: `40 s`, `3 min`, `2 h`, `9 d`. */
function ageInWords(seconds: number | null): string {
  if (seconds === null) return '';
  const [first = '', unit = ''] = durationInWords(seconds).split(' ');
  return `${first} ${unit.startsWith('d') ? 'd' : unit}`;
}

function inSeconds(ms: number): string {
  return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

const FAILURE_COLUMNS: readonly Column<TopFailure>[] = [
  { title: 'FAILED', text: ({ at }) => isoTime(at).slice(11, 19) },
  { title: 'CHANNEL', text: ({ channel }) => channelInWords(channel) },
  { title: 'WHY', json: 'outcome' },
  { title: 'REQUEST', json: 'request_id', narrow: 'cut' },
];

function toView({ at, failures, ...snapshot }: Snapshot) {
  return {
    at: isoTime(at),
    ...snapshot,
    failures: failures.map((failure) => ({ ...failure, at: isoTime(failure.at) })),
  };
}

/** The lines of the screen. Values may come from anybody, so they have no control characters. */
function renderLines(snapshot: Snapshot, out: Pick<Output, 'table' | 'width'>): string[] {
  const { at, daemon, channels, blocked, runs, failures } = snapshot;
  const state = daemon === null ? 'the daemon does not answer' : `the daemon is ${printable(daemon)}`;
  const about = [
    ...(runs ? [`agent: ${runs.running} runs, ${runs.waiting} wait`] : []),
    `blocked: ${blocked.users} users, ${blocked.sessions} sessions`,
  ];
  const troubles = channels.flatMap(({ channel, state, detail }) =>
    state === null || state === 'ok' || detail === null ? [] : [printable(`${channel}: ${detail}`)],
  );
  const table = channels.length === 0 ? 'No channel is active.\n' : out.table(CHANNEL_COLUMNS, channels);
  const failed = failures.length === 0 ? '' : `\n${out.table(FAILURE_COLUMNS, failures)}`;
  const body = [table, ...troubles.map((line) => `${line}\n`), failed].join('\n');
  return [
    `${isoTime(at).slice(0, 19)}Z  ${state}`,
    about.join('   '),
    '',
    ...printableLines(body).trimEnd().split('\n'),
  ].map((line) => [...line].slice(0, out.width).join(''));
}
