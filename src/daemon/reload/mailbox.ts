import { hostname } from 'node:os';
import type { Log } from '../process/log.ts';
import type { ReloadReport, ReloadStore } from '../store/reloads.ts';
import { type AlarmClock, every } from '../time/clock.ts';

interface MailboxParts {
  reloads: ReloadStore;
  replica_id: string;
  reload: (cause: string) => Promise<ReloadReport>;
  clock: AlarmClock;
  log: Pick<Log, 'warn'>;
  /** How often to look for requests, ms. */
  look_ms: number;
}

/** Maximum number of problems or warnings that an answer has. */
const LISTED_MAX = 50;

/**
 * Reloads when `agentd reload` asks for it, and answers with the result. Requests from before the start are ignored: the
 * configuration was read after them.
 * @returns a function that stops it
 */
export async function answerReloads({
  reloads,
  replica_id,
  reload,
  clock,
  log,
  look_ms,
}: MailboxParts): Promise<() => Promise<void>> {
  const done = new Set<string>();
  let underWay: Promise<void> | null = null;
  const look = async () => {
    try {
      for (const reload_id of await reloads.open(replica_id)) {
        if (done.has(reload_id)) continue;
        done.add(reload_id);
        const report = limitReport(await reload('agentd reload'));
        await reloads.answer(reload_id, { replica_id, host: hostname(), pid: process.pid, report });
      }
    } catch (error) {
      // If the store cannot be reached, the store itself logs that.
      log.warn({ err: error }, 'could not look for requests to reload; will try again');
    }
  };
  const lookOnce = () => {
    underWay ??= look().finally(() => {
      underWay = null;
    });
    return underWay;
  };
  try {
    for (const reload_id of await reloads.open(replica_id)) done.add(reload_id);
  } catch (error) {
    log.warn({ err: error }, 'could not look for requests to reload; will try again');
  }
  const stopWatching = reloads.watch(() => void lookOnce());
  const stopLooking = every(clock, look_ms, lookOnce);
  return async () => {
    stopWatching();
    await stopLooking();
    await underWay;
  };
}

function limitReport(report: ReloadReport): ReloadReport {
  return {
    ...report,
    problems: report.problems.slice(0, LISTED_MAX),
    warnings: report.warnings.slice(0, LISTED_MAX),
  };
}
