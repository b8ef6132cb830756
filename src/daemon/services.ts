import type { AgentRuntime } from './agent/agent.ts';
import type { Tool } from './agent/tools.ts';
import type { AlarmClock } from './clock.ts';
import type { Arrivals } from './http/arrivals.ts';
import type { TokenValidator } from './identity/identity.ts';
import type { Seal } from './identity/seal.ts';
import type { Log } from './log.ts';
import type { RunQueue } from './message/run-queue.ts';
import type { Settings } from './settings/settings.ts';
import type { Store } from './store/store.ts';
import type { Feeds } from './stream/feeds.ts';
import type { Readers } from './stream/readers.ts';

/** The services that the steps of a message use; made once, in serve.ts. */
export interface Services {
  settings: Settings;
  clock: AlarmClock;
  log: Log;
  store: Store;
  tokens: TokenValidator;
  seal: Seal;
  agent: AgentRuntime;
  tools: readonly Tool[];
  /** Messages on their way to their session's line, in order. */
  arrivals: Arrivals;
  queue: RunQueue;
  /** Event streams that are being read. */
  feeds: Feeds;
  /** Their readers, counted. */
  readers: Readers;
  /** Names of the active channels. */
  channelNames: readonly string[];
  /** Messages that are being answered; a stopping daemon waits for them. */
  running: Set<Promise<void>>;
  /** Aborts when the grace of a stopping daemon has passed: runs end. */
  stopping: AbortSignal;
}
