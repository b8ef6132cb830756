import type { TokenOrigin } from '../identity/identity.ts';
import type { SealCount } from '../identity/seal.ts';
import { actionStore } from './actions/action-steps.ts';
import type { ActionStore } from './actions/actions.ts';
import { type AuditStore, auditStore, LINES } from './audit.ts';
import { ACTIONS_RETENTION_MS, FAILED_MAX, INBOX_MAX, REFUSED_MAX, TRACES_MAX } from './bounds.ts';
import type { SessionClaim, SessionPlace } from './claims/claims.ts';
import { type FeedbackStore, feedbackStore } from './feedback.ts';
import { type IdempotencyStore, idempotencyStore } from './idempotency.ts';
import { type IdStore, idStore } from './ids.ts';
import type { InboxStore } from './inbox/inbox.ts';
import { inboxStore } from './inbox/inbox-steps.ts';
import { type OutageStore, outageStore } from './inbox/outages.ts';
import type { Kernel, Kind, Ring } from './kernels/kernel.ts';
import { type BudgetStore, budgetStore } from './limits/budgets.ts';
import { type GuardStore, guardStore } from './limits/guard.ts';
import { type LimitStore, limitStore } from './limits/limits.ts';
import { type LinkCodeStore, linkCodeStore } from './links/link-codes.ts';
import { type LinkRenewalStore, linkRenewalStore } from './links/link-renewals.ts';
import { type LinkStore, linkStore } from './links/links.ts';
import { type SignOutEndStore, signOutEndStore } from './links/sign-out-ends.ts';
import { type SignOutMarkStore, signOutMarkStore } from './links/sign-out-marks.ts';
import { type WaitingQuestionStore, waitingQuestionStore } from './links/waiting-questions.ts';
import type { MemoryStore } from './memories/memories.ts';
import { type ForgetMemories, type PersonStore, personStore, type Scrub } from './persons/persons.ts';
import { type StoredToken, tokenSteps } from './persons/stored-tokens.ts';
import { RECORDINGS_MAX_BYTES, type RecordingStore, recordingStore } from './recordings.ts';
import { type ReloadStore, reloadStore } from './reloads.ts';
import type { ReplicaStore } from './replicas.ts';
import { type SessionStore, sessionStore } from './sessions/sessions.ts';
import { type SummaryStore, summaryStore } from './sessions/summaries.ts';
import { type BegunTurn, type CommitOutcome, type TurnChanges, turnSteps } from './sessions/turns.ts';
import { type StreamHints, type StreamStore, streamStore } from './streams.ts';
import { type ToolDigestStore, toolDigestStore } from './tool-digests.ts';
import { type TraceStore, traceRings, traceStore } from './traces.ts';

/**
 * The store: one port per concern, in the terms of the domain. test/contract tests it over each kernel. All times are
 * by the store's clock, ms since the epoch. Every method rejects with `StoreUnavailable` if the store cannot be read or
 * written. Once a method resolves, its changes survive `kill -9`, unless the method's documentation says otherwise.
 * Callers must not cache anything, because administrators write while a daemon runs.
 */
export interface Store {
  /** Names the backend for people: for example `sqlite /var/lib/agentd/agentd.db`. */
  readonly description: string;
  readonly sessions: SessionStore;
  readonly actions: ActionStore;
  readonly audit: AuditStore;
  readonly traces: TraceStore;
  readonly limits: LimitStore;
  readonly budgets: BudgetStore;
  readonly summaries: SummaryStore;
  readonly feedback: FeedbackStore;
  readonly guard: GuardStore;
  readonly idempotency: IdempotencyStore;
  readonly ids: IdStore;
  readonly inbox: InboxStore;
  readonly linkCodes: LinkCodeStore;
  readonly waitingQuestions: WaitingQuestionStore;
  readonly links: LinkStore;
  readonly linkRenewals: LinkRenewalStore;
  /** Null: the backend stores no memories (agentd-settings(5), `MEMORY_BACKEND`). */
  readonly memories: MemoryStore | null;
  readonly outages: OutageStore;
  /** Null: the backend cannot find what it stores about a person. */
  readonly persons: PersonStore | null;
  readonly signOutMarks: SignOutMarkStore;
  readonly signOutEnds: SignOutEndStore;
  readonly recordings: RecordingStore;
  readonly reloads: ReloadStore;
  readonly streams: StreamStore;
  readonly toolDigests: ToolDigestStore;
  /**
   * Claims a session as `SessionStore.claim` does, and reads the data that its turn begins with, in one step. Null
   * while another caller's claim is valid, or a message of another daemon came first.
   * @param session_id the id of the session in the message.
   * @param turn_key the turn key of the message; null if the message cannot have had an earlier run.
   * @param token the claims of the token of the message; absent or null if it has none.
   * @param place the message's place in the line, which it gets if it must wait; absent: it passes all that wait.
   */
  beginTurn(
    session_tag: string,
    session_id: string,
    turn_key: string | null,
    token?: TokenOrigin | null,
    place?: SessionPlace,
  ): Promise<BegunTurn | null>;
  /**
   * Stores everything that a turn changes, or nothing; durable when it resolves. If the claim of the session or any
   * claim named in the changes is gone, all changes are refused (`lost`). The claim of the session is held until it is
   * released or the changes end it.
   */
  commitTurn(claim: SessionClaim, changes: TurnChanges): Promise<CommitOutcome>;
  /** The daemons that share the store; null if only one daemon at a time can use it. */
  readonly replicas: ReplicaStore | null;
  /** Warnings that the daemon logs at its start, one sentence each, about the configuration of the store's server. */
  advice(): Promise<readonly string[]>;
  /**
   * Counts the keys in the store by kind, for `agentd doctor`; the work is limited. Null if the backend has no such
   * keys.
   */
  census(): Promise<KeyCensus | null>;
  /** Deletion of expired data, examination, and backup. Null if the backend needs none of these. */
  readonly maintenance: StoreMaintenance | null;
  /**
   * Whether the store can be written now, as far as this is known without a write. Cheap, because every health probe
   * calls it.
   */
  condition(): StoreCondition;
  /** @throws StoreFull if the volume has too little space left for another message and its answer. */
  expectRoom(): void;
  /** Writes to the store. Resolves if that succeeds. */
  check(): Promise<void>;
  /**
   * How many texts each key has sealed, by the mark at their beginning (seal.ts). Unsealed ones are counted under ''. Reads
   * every token and text, but no content of a recording.
   */
  countSeals(): Promise<ReadonlyMap<string, SealCount>>;
  /**
   * The live tokens of links, codes, sessions and streams, the texts of actions, and comments, that do not begin with
   * this prefix, in batches of limited size. A batch may be empty, so that a caller who has to stop can do so.
   */
  storedTokens(unlike: string): AsyncIterable<readonly StoredToken[]>;
  /** Replaces the value of a token or text; atomic. False if it was replaced or deleted before that. */
  replaceToken(token: StoredToken, value: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface KeyCensus {
  /** For each kind, the number of keys, and the number of those that should expire but never will. */
  kinds: ReadonlyMap<string, { keys: number; endless: number }>;
  /** False if the store has more keys than were examined. */
  isWhole: boolean;
}

export interface StoreMaintenance {
  /** Looks for damage by reading everything. @returns descriptions of the damage; empty if there is none. */
  examine(): Promise<readonly string[]>;
  /**
   * Deletes one batch of expired data, or returns free space to the file system. This also works on a full disk. The
   * daemon calls it regularly. @returns how much was done; 0 if nothing remains to be done.
   */
  sweep(): Promise<number>;
  /**
   * Copies everything that is stored into a new file, mode 0600, while the daemon runs. After a crash, the copy is
   * either complete or absent. Null if the server of the store has its own tools for this.
   * @throws BackupFailed if the file exists or cannot be written.
   */
  readonly backup: ((file: string) => Promise<void>) | null;
  /**
   * When a backup was last completed, ms since the epoch by the clock of the machine; 0 if there was none. Null if there
   * is no `backup`.
   */
  lastBackupAt(): number | null;
}

export interface StoreCondition {
  /** False if the last write failed, or if new messages are refused because too little space is left. */
  writable: boolean;
  /** The reason, as a sentence; null if the store can be written. */
  detail: string | null;
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** The limits of a store. */
export interface Bounds {
  /** TRACE_RETENTION_DAYS, in ms. */
  traceRetentionMs: number;
  /** ACTIONS_RETENTION_DAYS, in ms. */
  actionsRetentionMs: number;
  /** RECORDINGS_MAX_BYTES */
  recordingsMaxBytes: number;
  tracesMax: number;
  refusedMax: number;
  inboxMax: number;
  failedMax: number;
}

/** The condition of a store on a server. @param failure why the last write, or anything since, failed; null otherwise */
export function conditionOf(server: string, failure: string | null): StoreCondition {
  const detail = failure === null ? null : `${server} cannot be used: ${failure.replace(/\.$/, '')}.`;
  return { writable: failure === null, detail };
}

/** A document that is written to test whether the store can be written. */
const CHECK: Kind<{ at: number }> = { name: 'check', expires: ({ at }) => at + CHECK_MS };
const CHECK_MS = 60_000;

/** The parts of a store that the rules share, and those that only its kernel can tell. */
type KernelParts = Pick<Store, 'replicas' | 'advice' | 'census' | 'condition' | 'memories' | 'expectRoom'> & {
  hints: StreamHints;
  scrub: Scrub;
  /** Absent if the memories are documents of the kernel. */
  forgetMemories?: ForgetMemories;
  maintenance(rings: readonly Ring<never>[]): StoreMaintenance | null;
};

/** The store of the daemon over a kernel: each port is the rules of its concern, in steps of the kernel. */
export function storeOver(kernel: Kernel, parts: KernelParts, wanted: Partial<Bounds> = {}): Store {
  const bounds: Bounds = {
    traceRetentionMs: WEEK_MS,
    actionsRetentionMs: ACTIONS_RETENTION_MS,
    recordingsMaxBytes: RECORDINGS_MAX_BYTES,
    tracesMax: TRACES_MAX,
    refusedMax: REFUSED_MAX,
    inboxMax: INBOX_MAX,
    failedMax: FAILED_MAX,
    ...wanted,
  };
  const { hints, scrub, forgetMemories, maintenance, ...own } = parts;
  const rings = traceRings(bounds);
  const allRings = [rings.answered, rings.refused, LINES];
  return {
    description: kernel.description,
    sessions: sessionStore(kernel),
    actions: actionStore(kernel, bounds),
    audit: auditStore(kernel),
    traces: traceStore(kernel, rings),
    limits: limitStore(kernel),
    budgets: budgetStore(kernel),
    summaries: summaryStore(kernel),
    feedback: feedbackStore(kernel, bounds),
    guard: guardStore(kernel),
    idempotency: idempotencyStore(kernel),
    ids: idStore(kernel, rings),
    inbox: inboxStore(kernel, bounds, rings),
    linkCodes: linkCodeStore(kernel),
    waitingQuestions: waitingQuestionStore(kernel),
    links: linkStore(kernel),
    linkRenewals: linkRenewalStore(kernel),
    outages: outageStore(kernel),
    persons: personStore(kernel, rings, () => scrub(allRings), forgetMemories),
    signOutMarks: signOutMarkStore(kernel),
    signOutEnds: signOutEndStore(kernel),
    recordings: recordingStore(kernel, bounds),
    reloads: reloadStore(kernel),
    streams: streamStore(kernel, hints),
    toolDigests: toolDigestStore(kernel),
    ...turnSteps(kernel, bounds, rings),
    ...tokenSteps(kernel),
    ...own,
    maintenance: maintenance(allRings),
    check: () => kernel.step((tx) => tx.put(CHECK, '', { at: tx.now })),
    close: () => kernel.close(),
  };
}
