import { systemClock } from '../../daemon/clock.ts';
import {
  ConfigurationError,
  type ConfigureOptions,
  configureCore,
} from '../../daemon/configuration/configure.ts';
import { StoreUnavailable } from '../../daemon/errors.ts';
import { BackupFailed, StoreMissing, StoreTooNew } from '../../daemon/store/failures.ts';
import { openStore } from '../../daemon/store/open.ts';

/** What has become of a message, as far as the daemon's store says. */
export type Ending =
  | { end: 'answered' }
  /** Of the loop guard: `rate_limit`, `repetition`, `turn_limit`. */
  | { end: 'blocked'; reason: string }
  | { end: 'failed'; reason: string }
  /** It is known, and not at its end; with why the last attempt failed. */
  | { end: 'open'; reason: string | null };

/** The daemon's own records, where this machine has them. */
export interface Records {
  /** Null: nothing is known of it. */
  endingOf(request_id: string): Promise<Ending | null>;
  close(): Promise<void>;
}

/**
 * Opens the store that the settings name. Null where there is none that can be read: then what becomes of
 * messages shows in what comes back alone.
 */
export async function openRecords(place: ConfigureOptions): Promise<Records | null> {
  try {
    const settings = await configureCore({ ...place, purpose: 'store' });
    const store = await openStore(settings, { role: 'administrator', clock: systemClock });
    return {
      async endingOf(request_id) {
        const traces = await store.traces.find(request_id);
        const blocked = traces.find(({ outcome }) => outcome === 'loop_guard_blocked');
        if (blocked) {
          const { reason = 'loop_guard_blocked' } = blocked.lines.find(({ step }) => step === 'guard') ?? {};
          return { end: 'blocked', reason };
        }
        const turn_id = traces.at(-1)?.turn_id;
        const message = turn_id === undefined ? null : await store.inbox.find(turn_id);
        if (message?.state === 'done') return { end: 'answered' };
        if (message?.state === 'failed') return { end: 'failed', reason: message.failure ?? 'failed' };
        return message && { end: 'open', reason: message.failure };
      },
      close: () => store.close(),
    };
  } catch (error) {
    // The daemon may run on another machine; what is wrong with its store is its to tell.
    if (isOutOfReach(error)) return null;
    throw error;
  }
}

function isOutOfReach(error: unknown): boolean {
  return [BackupFailed, ConfigurationError, StoreMissing, StoreTooNew, StoreUnavailable].some(
    (kind) => error instanceof kind,
  );
}
