import { EventEmitter } from 'node:events';
import type { StreamEvent } from '../../../channel/index.ts';
import type { Hits } from '../../guard/hits.ts';
import type { GuardUserState } from '../../guard/judge.ts';
import type { GuardVerdict, SessionTurns } from '../../guard/verdict.ts';
import type { Session, StoredTurn } from '../../session/session.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import type { Action } from '../actions.ts';
import type { AuditLine } from '../audit.ts';
import type { StoredAnswer } from '../idempotency.ts';
import type { InboxMessage } from '../inbox.ts';
import type { Link, NewLink } from '../links.ts';
import type { Memory } from '../memories.ts';
import type { Outage } from '../outages.ts';
import type { StreamRecord } from '../streams.ts';
import type { Summary } from '../summaries.ts';
import type { TokenWindow } from '../token-window.ts';
import type { ToolDigest } from '../tool-digests.ts';

export interface StoredClaim {
  owner: string;
  expires_at: number;
}

export interface StoredSession {
  session: Session;
  turns: StoredTurn[];
  summaries: Summary[];
  /** The claim of the caller that is making a summary; null if no summary is being made. */
  summarizing: StoredClaim | null;
}

export interface StoredTrace {
  kept_at: number;
  /** The tag of the anonymous client for whom it counts; null if it counts with its session, or for nobody. */
  client: string | null;
  trace: TraceRecord;
}

export interface SeenMessage {
  verdict: GuardVerdict | null;
  /** The id of the message in the inbox; null if the message was judged but not stored. */
  id: string | null;
  /** The user who wrote the message, so that an erasure finds it. */
  user_id: string | null;
  expires_at: number;
}

export interface StoredMessage {
  message: InboxMessage;
  /** How long the next attempt was postponed, ms. */
  wait_ms: number;
}

export interface StoredLink extends Link {
  person: NewLink['person'];
  /** Whether `findByAlias` finds this link by its alias. True for only one of the links with the same alias. */
  is_found_by_alias: boolean;
}

export interface StoredStream {
  record: StreamRecord;
  events: StreamEvent[];
  /** Null while the stream is running. */
  expires_at: number | null;
}

export interface StoredMemories {
  alias: string | null;
  /** Newest first. */
  memories: Memory[];
}

/** An action, and the properties that only a pending action has. */
export interface StoredAction {
  action: Action;
  asked_by: string | null;
  answer_ms: number;
}

/** Everything that is stored. Several stores with the same state act like several daemons on one store. */
export interface MemoryState {
  /** By their tags. */
  readonly sessions: Map<string, StoredSession>;
  /** By their ids, in the order in which they were stored. */
  readonly actions: Map<string, StoredAction>;
  readonly traces: StoredTrace[];
  readonly refused: StoredTrace[];
  readonly limits: Map<string, { hits: Hits; expires_at: number }>;
  readonly budgets: Map<string, { window: TokenWindow; expires_at: number }>;
  readonly guard_users: Map<string, { state: GuardUserState; expires_at: number }>;
  /** By the tags of their sessions. `ends_at` is the end of the session, if the session is stored. */
  readonly guard_turns: Map<string, SessionTurns>;
  /** Messages of platforms, by `seenKey`. */
  readonly seen: Map<string, SeenMessage>;
  readonly answers: Map<string, { fingerprint: string; answer: StoredAnswer; expires_at: number }>;
  /** By their ids, in the order in which they were stored. */
  readonly inbox: Map<string, StoredMessage>;
  readonly links: Map<string, StoredLink>;
  /** By the keys of their owners. */
  readonly memories: Map<string, StoredMemories>;
  readonly outages: Map<string, Outage & { wait_ms: number }>;
  readonly streams: Map<string, StoredStream>;
  /** Oldest first. */
  readonly audit: AuditLine[];
  /** The ids of erased sessions and turns, and until when each is remembered. */
  readonly erased: Map<string, number>;
  /** Empty before the key is generated; then its only element is the key. */
  readonly audit_key: Uint8Array[];
  readonly tool_digests: Map<string, ToolDigest>;
  readonly claims: Record<'sessions' | 'keys' | 'streams' | 'inbox', Map<string, StoredClaim>>;
  /** The fingerprints of keys without an answer: keys that are claimed, and released keys, known until `expires_at`. */
  readonly fingerprints: Map<string, { fingerprint: string; expires_at: number; counted: boolean }>;
  /** Notifies the subscribers of all daemons about changes to streams. */
  readonly changes: EventEmitter;
}

export function emptyState(): MemoryState {
  return {
    sessions: new Map(),
    actions: new Map(),
    traces: [],
    erased: new Map(),
    refused: [],
    limits: new Map(),
    budgets: new Map(),
    guard_users: new Map(),
    guard_turns: new Map(),
    seen: new Map(),
    answers: new Map(),
    inbox: new Map(),
    links: new Map(),
    memories: new Map(),
    outages: new Map(),
    streams: new Map(),
    audit: [],
    audit_key: [],
    tool_digests: new Map(),
    claims: { sessions: new Map(), keys: new Map(), streams: new Map(), inbox: new Map() },
    fingerprints: new Map(),
    changes: new EventEmitter().setMaxListeners(0),
  };
}
