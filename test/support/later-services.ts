import type { PushPlugin } from '../../src/channel/index.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StreamServices } from '../../src/daemon/stream/stream-services.ts';
import type { AlarmClock } from '../../src/daemon/time/clock.ts';
import type { LogLine } from './log-lines.ts';
import { testServices } from './services.ts';

/** Services that make two attempts for each message, and four runs at once. */
export async function laterServices(
  store: Store,
  clock: AlarmClock,
  sealKey?: string,
): Promise<{ services: StreamServices; lines: LogLine[] }> {
  const env = { INBOX_MAX_ATTEMPTS: '2', AGENT_CONCURRENCY: '4' };
  return testServices({ store, clock, sealKey, env });
}

/** A channel that sends its replies through the inbox. */
export const TELEX: PushPlugin = {
  name: 'telex',
  apiVersion: 1,
  summary: 'By telex.',
  settings: [],
  detect: () => true,
  delivery: 'push',
  capabilities: { textLimit: null, markdown: 'none', typing: true },
  create: () => ({ routes: [], send: async () => {} }),
};
