import { dueAt } from '../due-at.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import type { Outage, OutageStore } from '../outages.ts';

type StoredOutage = Outage & { wait_ms: number };

const OUTAGE: Kind<StoredOutage> = {
  name: 'outage',
  expires: () => null,
  indexes: ({ since }) => [['all', since]],
};

/** Maximum number of outages: there is at most one for each channel. */
const OUTAGES_MAX = 100;

export function outageStore(kernel: Kernel): OutageStore {
  return {
    list: () => kernel.step(outagesOf),
    note: (platform, reason, words, probe_in_ms) =>
      kernel.step((tx) => {
        const { since, probes } = tx.get(OUTAGE, platform) ?? { since: tx.now, probes: -1 };
        const next = { since, probes: probes + 1, probe_at: tx.now + probe_in_ms, wait_ms: probe_in_ms };
        tx.put(OUTAGE, platform, { platform, reason, words, ...next });
      }),
    takeProbe: (platform, lease_ms) =>
      kernel.step((tx) => {
        const outage = tx.get(OUTAGE, platform);
        if (!outage || dueAt(outage.probe_at, outage.wait_ms, tx.now) > tx.now) return false;
        return postpone(tx, platform, lease_ms);
      }),
    hurry: (platform) => kernel.step((tx) => postpone(tx, platform, 0)),
    end: (platform) =>
      kernel.step((tx) => {
        const isKnown = tx.get(OUTAGE, platform) !== null;
        if (isKnown) tx.delete(OUTAGE, platform);
        return isKnown;
      }),
  };
}

/** `OutageStore.list`. */
export function outagesOf(tx: Tx): Outage[] {
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
