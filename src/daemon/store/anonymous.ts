import { FEEDBACK } from './feedback.ts';
import { ANONYMOUS_ANSWER_MS, KEY } from './idempotency.ts';
import type { Kind, Tx } from './kernels/kernel.ts';
import { SESSION, sessionIds } from './sessions/session-document.ts';
import { endSession } from './sessions/sessions.ts';
import { dropStream, STREAM } from './streams.ts';

/** A kind whose documents are deleted to make room if they count for an anonymous client (ANONYMOUS_STORE_BYTES). */
export interface AnonymousKind<T = unknown> {
  readonly kind: Kind<T, unknown>;
  /** Approximately what each item of its list takes besides its text, bytes. */
  readonly item_bytes: number;
  /** Since when nobody has used the document, ms since the epoch; null while it may not be deleted. */
  idleSince(doc: T): number | null;
  evict(tx: Tx, key: string, doc: T): void;
  /** The ids of the sessions whose traces are deleted with it. */
  sessions?(doc: T): readonly string[];
}

function anonymousKind<T>(kind: AnonymousKind<T>): AnonymousKind {
  return kind as unknown as AnonymousKind;
}

export const ANONYMOUS_KINDS: readonly AnonymousKind[] = [
  anonymousKind({
    kind: SESSION,
    item_bytes: 500,
    idleSince: ({ session }) => session.last_active_at,
    evict: (tx, _key, doc) => endSession(tx, doc),
    sessions: ({ session }) => sessionIds(session),
  }),
  anonymousKind({
    kind: KEY,
    item_bytes: 0,
    idleSince: ({ expires_at }) => expires_at - ANONYMOUS_ANSWER_MS,
    evict: (tx, key) => tx.delete(KEY, key),
  }),
  anonymousKind({
    kind: FEEDBACK,
    item_bytes: 0,
    idleSince: ({ feedback }) => feedback.rated_at,
    evict: (tx, key) => tx.delete(FEEDBACK, key),
  }),
  anonymousKind({
    kind: STREAM,
    item_bytes: 50,
    // The run of a stream keeps it, so only streams that wait or have ended are idle.
    idleSince: ({ expires_at, record }) => (expires_at === null ? null : expires_at - record.ttl_ms),
    evict: (tx, _key, { record }) => dropStream(tx, record),
  }),
];
