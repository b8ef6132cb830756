import type { Settings } from '../../daemon/admin/settings.ts';
import { type Store, StoreUnavailable } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { coreSettings } from '../config-location.ts';
import { isoTime, wholeNumber } from '../names/typed-values.ts';
import { createOutput } from '../output.ts';
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
import { type Snapshot, TRACES_MAX, takeSnapshot } from '../top/snapshot.ts';
import { topLines } from '../views/top-view.ts';
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
      out.data(toView(snapshot), () => topLines(snapshot, out).join('\n'));
      return;
    }
    const draw = async () => {
      const screen = createOutput({ json: false, stdout, stderr: process.stderr });
      try {
        return topLines(await look(options), screen);
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

function toView({ at, failures, ...snapshot }: Snapshot) {
  return {
    at: isoTime(at),
    ...snapshot,
    failures: failures.map((failure) => ({ ...failure, at: isoTime(failure.at) })),
  };
}
