import { dueAt } from '../../time/clock.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps-of.ts';

/**
 * Platforms that cannot be reached. During an outage, one message at a time probes the platform, and the others wait.
 */
export interface OutageStore {
  /** The current outages, in no particular order. */
  list(): Promise<Outage[]>;
  /** Begins an outage or, during an outage, records that a probe failed. The next probe is due after `probe_in_ms`. */
  note(platform: string, reason: OutageReason, words: string, probe_in_ms: number): Promise<void>;
  /**
   * Returns true if a probe is due, but only to one caller. The next probe is then due after `lease_ms`, in case the
   * process that probes dies. False if no probe is due, or if there is no outage.
   */
  takeProbe(platform: string, lease_ms: number): Promise<boolean>;
  /** Makes the next probe due now. False if there is no outage. */
  hurry(platform: string): Promise<boolean>;
  /** Ends an outage. False if there is none. */
  end(platform: string): Promise<boolean>;
}

/** `unreachable`: the platform gives no usable answer. `credentials`: it refuses the channel's own credentials. */
export type OutageReason = 'unreachable' | 'credentials';

export interface Outage {
  platform: string;
  reason: OutageReason;
  /** The last answer or error of the platform, for operators; never contains a secret. */
  words: string;
  since: number;
  /** The number of failed probes. */
  probes: number;
  probe_at: number;
}

type StoredOutage = Outage & { wait_ms: number };

const OUTAGE: Kind<StoredOutage> = {
  name: 'outage',
  expires: () => null,
  indexes: ({ since }) => [['all', since]],
};

/** Maximum number of outages: there is at most one for each channel. */
const OUTAGES_MAX = 100;

export function outageStore(kernel: Kernel): OutageStore {
  const step = stepsOf(kernel);
  return {
    list: step(listOutages),
    note: step((tx, platform, reason, words, probe_in_ms) => {
      const { since, probes } = tx.get(OUTAGE, platform) ?? { since: tx.now, probes: -1 };
      const next = { since, probes: probes + 1, probe_at: tx.now + probe_in_ms, wait_ms: probe_in_ms };
      tx.put(OUTAGE, platform, { platform, reason, words, ...next });
    }),
    takeProbe: step((tx, platform, lease_ms) => {
      const outage = tx.get(OUTAGE, platform);
      if (!outage || dueAt(outage.probe_at, outage.wait_ms, tx.now) > tx.now) return false;
      return postpone(tx, platform, lease_ms);
    }),
    hurry: step((tx, platform) => postpone(tx, platform, 0)),
    end: step((tx, platform) => {
      const isKnown = tx.get(OUTAGE, platform) !== null;
      if (isKnown) tx.delete(OUTAGE, platform);
      return isKnown;
    }),
  };
}

/** `OutageStore.list`. */
export function listOutages(tx: Tx): Outage[] {
  return tx.first(OUTAGE, 'all', OUTAGES_MAX).map(({ doc: { wait_ms, ...outage } }) => ({
    ...outage,
    probe_at: dueAt(outage.probe_at, wait_ms, tx.now),
  }));
}

function postpone(tx: Tx, platform: string, wait_ms: number): boolean {
  const outage = tx.get(OUTAGE, platform);
  if (outage) tx.put(OUTAGE, platform, { ...outage, probe_at: tx.now + wait_ms, wait_ms });
  return outage !== null;
}
