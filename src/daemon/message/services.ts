import type { AgentRuntime } from '../../agent/index.ts';
import type { LongTermMemory } from '../agent/long-term-memory.ts';
import type { Agents } from '../agents/agents.ts';
import type { TokenValidator } from '../identity/identity.ts';
import type { LogoutVerdict } from '../identity/logout-token.ts';
import type { Seal } from '../identity/seal.ts';
import type { Log } from '../process/log.ts';
import type { LinkRenewer } from '../renewal/link-renewer.ts';
import type { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import type { ClaimKeeper } from '../store/claims/claim-keeper.ts';
import type { Store } from '../store/store.ts';
import type { Texts } from '../texts/texts.ts';
import type { AlarmClock } from '../time/clock.ts';
import type { Tickets } from '../time/tickets.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Observer } from '../trace/observer.ts';
import type { HistorySummaries } from './run/summaries.ts';
import type { RunSlots } from './waits/run-slots.ts';
import type { SessionLock } from './waits/session-lock.ts';
import type { UseCount } from './waits/use-count.ts';

/**
 * The services that the steps of a message use; made once, in serve.ts. A reload replaces some of them, so a caller reads
 * them when it uses them, or works on a copy.
 */
export interface Services {
  settings: Settings;
  clock: AlarmClock;
  log: Log;
  observer: Observer;
  store: Store;
  tokens: TokenValidator;
  /** Null if logout tokens are not accepted (`acceptsLogout`). */
  logoutTokens: { validate(token: string, request_id: string): Promise<LogoutVerdict> } | null;
  /** Null if the tokens of links are not renewed. */
  renewer: Pick<LinkRenewer, 'met'> | null;
  seal: Seal;
  /** Every secret of the settings, for masks. */
  secrets: readonly Secret[];
  agents: Agents;
  /** The runtime of the agent. From choose-agent on, `agent`, `tools` and `memory` are those of the chosen agent. */
  agent: AgentRuntime;
  tools: ToolRegistry;
  /** The turns that use the replaceable services (`Replaceable`). */
  use: UseCount;
  /** The texts that people read but that no agent wrote. */
  texts: Texts;
  /** Null if nothing is remembered. */
  memory: LongTermMemory | null;
  /**
   * Keeps the requests of one thread in the order of arrival until they wait for the session's lock. Otherwise, a
   * request could overtake an earlier one, because the work before the lock, such as the check of a token, takes longer
   * for some requests. A request releases its ticket when it waits for its session's lock, or has ended.
   */
  sequencer: Tickets;
  /** One message of a session at a time. */
  sessions: SessionLock;
  /** A bounded number of runs at a time. */
  runs: RunSlots;
  /** Summaries of the exchanges that no longer fit into the history of sessions. */
  summaries: HistorySummaries;
  /** Renews the claims that this daemon holds. */
  claims: ClaimKeeper;
  channelNames: readonly string[];
  /** Messages that are being answered; the daemon waits for them when it stops. */
  running: Set<Promise<void>>;
  /** Aborts when the grace period of a stopping daemon has ended, which ends all runs. */
  stopping: AbortSignal;
}

/** The services that a reload replaces, all at the same time. */
export type Replaceable = Pick<
  Services,
  | 'settings'
  | 'tokens'
  | 'logoutTokens'
  | 'secrets'
  | 'agents'
  | 'agent'
  | 'tools'
  | 'memory'
  | 'texts'
  | 'use'
>;

/** The services that a run of the agent uses. */
export type RunServices = Pick<
  Services,
  | 'agent'
  | 'clock'
  | 'log'
  | 'memory'
  | 'runs'
  | 'seal'
  | 'settings'
  | 'stopping'
  | 'store'
  | 'texts'
  | 'tokens'
  | 'tools'
>;

/** The services for the work of one request: the id of the request is in their log lines. */
export function forRequest<Some extends Pick<Services, 'log' | 'tokens'>>(
  services: Some,
  request_id: string,
): Some {
  const { log, tokens } = services;
  return {
    ...services,
    log: log.child({ request_id }),
    tokens: { validate: (token) => tokens.validate(token, request_id) },
  };
}
