import { ConfigurationError, readSettings, type SettingsLocation } from '../../daemon/admin/settings.ts';
import { openStore, StoreMissing, StoreOfAnotherLayout, StoreUnavailable } from '../../daemon/admin/store.ts';

/** How a message ended, according to the daemon's store. */
export type MessageEnd =
  | { end: 'answered' }
  /** Reason of the loop guard: `rate_limit`, `repetition`, `turn_limit`. */
  | { end: 'blocked'; reason: string }
  | { end: 'failed'; reason: string }
  /** Not ended yet. The reason is why the last attempt failed. */
  | { end: 'open'; reason: string | null };

/** The daemon's own records of messages. */
export interface DaemonRecords {
  /** Null if the daemon has no record of this request. */
  endOf(request_id: string): Promise<MessageEnd | null>;
  /**
   * Whether a text of the channel itself, such as the answer to a command, was stored since this time and is not sent
   * yet.
   */
  hasOpenText(platform: string, since: number): Promise<boolean>;
  close(): Promise<void>;
}

/** How many unsent texts are examined, newest first. */
const OPEN_MAX = 100;

/**
 * Opens the store that the settings name. Null if it cannot be read: then only the texts that arrive show how messages
 * end.
 */
export async function openDaemonRecords(location: SettingsLocation): Promise<DaemonRecords | null> {
  try {
    const settings = await readSettings(location, 'store');
    const store = await openStore(settings);
    const { inbox, traces } = store;
    return {
      async endOf(request_id) {
        const found = await traces.find(request_id);
        const blocked = found.find(({ outcome }) => outcome === 'loop_guard_blocked');
        if (blocked) {
          const { reason = 'loop_guard_blocked' } = blocked.lines.find(({ step }) => step === 'guard') ?? {};
          return { end: 'blocked', reason };
        }
        const turn_id = found.at(-1)?.turn_id;
        const message =
          turn_id === undefined
            ? (await inbox.search(request_id)).find((one) => one.request_id === request_id)
            : await inbox.find(turn_id);
        if (!message) return null;
        if (message.state === 'done') return { end: 'answered' };
        if (message.state === 'failed') return { end: 'failed', reason: message.failure ?? 'failed' };
        return { end: 'open', reason: message.failure };
      },
      async hasOpenText(platform, since) {
        const open = await inbox.list({ states: ['replied'], limit: OPEN_MAX });
        return open.some(
          (text) => text.session_id === null && text.platform === platform && text.received_at >= since,
        );
      },
      close: () => store.close(),
    };
  } catch (error) {
    // The daemon may run on another machine. Problems of its store are reported by the daemon itself.
    if (isUnreadable(error)) return null;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return [ConfigurationError, StoreMissing, StoreOfAnotherLayout, StoreUnavailable].some(
    (kind) => error instanceof kind,
  );
}
