import { dueAt } from '../due-at.ts';
import type { Outage, OutageStore } from '../outages.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

export function outageSteps(context: MemoryContext): Steps<OutageStore> {
  const {
    state: { outages },
    clock,
  } = context;
  const putOff = (platform: string, wait_ms: number) => {
    const outage = outages.get(platform);
    if (outage) outages.set(platform, { ...outage, probe_at: clock.now() + wait_ms, wait_ms });
    return outage !== undefined;
  };
  return {
    list: () => outagesOf(context),
    note(platform, reason, words, probe_in_ms) {
      const now = clock.now();
      const { since, probes } = outages.get(platform) ?? { since: now, probes: -1 };
      const next = { since, probes: probes + 1, probe_at: now + probe_in_ms, wait_ms: probe_in_ms };
      outages.set(platform, { platform, reason, words, ...next });
    },
    takeProbe(platform, lease_ms) {
      const outage = outages.get(platform);
      const now = clock.now();
      if (!outage || dueAt(outage.probe_at, outage.wait_ms, now) > now) return false;
      return putOff(platform, lease_ms);
    },
    hurry: (platform) => putOff(platform, 0),
    end: (platform) => outages.delete(platform),
  };
}

/** `OutageStore.list`. */
export function outagesOf({ state: { outages }, clock }: MemoryContext): Outage[] {
  return [...outages.values()].map(({ wait_ms, ...outage }) => ({
    ...outage,
    probe_at: dueAt(outage.probe_at, wait_ms, clock.now()),
  }));
}
