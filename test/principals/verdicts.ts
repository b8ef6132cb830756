import type {
  Answer,
  Business,
  Presented,
  Problem,
  Seen,
  Session,
  Spoken,
  Told,
  WebMessage,
} from './facts.ts';
import type { Person } from './tokens.ts';

export const NONE: Presented = { kind: 'none' };
export const NOT_REFUSED =
  'a message in a session that belongs to somebody else or to a platform was not refused';
export const TOKEN_TOLD: Problem = {
  kind: 'token',
  text: 'the response contains something that looks like a token',
};

/** If a token in the address of a stream made a person its owner, only that person may read the answer. */
export function isOfAnotherReader({ reader }: Answer, { presented }: Pick<WebMessage, 'presented'>): boolean {
  return reader !== null && reader !== personOf(presented);
}

/** The marks in the text of a message. An answer to a question has none. */
export function wrote(mark: string, business: Business | undefined): string[] {
  return [mark, ...(business?.deeds ?? [])].filter(Boolean);
}

export function spoken(
  message: WebMessage,
  { session, person }: { session: Session; person: Person | null },
): Spoken {
  const { user, mark, calls, presented, business } = message;
  const hasToken = presented.kind === 'person';
  const signsOut = presented.kind === 'signed-out';
  return { session, user, person, mark, calls, hasToken, signsOut, business };
}

export function toldProblems(seen: Told, expected: Told): Problem[] {
  const problems: Problem[] = [];
  for (const [what, kind] of [
    ['asks', 'question'],
    ['lines', 'told'],
  ] as const) {
    const [is, should] = [seen, expected].map((told) => [...told[what]].sort().join(', ') || 'nothing');
    if (is !== should)
      problems.push({
        kind,
        text: `the reply ${what === 'asks' ? 'asks about' : 'says'} ${is}, but must ${what === 'asks' ? 'ask about' : 'say'} ${should}`,
      });
  }
  return problems;
}

export function personOf(presented: Presented): Person | null {
  return presented.kind === 'person' ? presented.person : null;
}

/** The person of a token, even if it has expired. */
export function formerPersonOf(presented: Presented): Person | null {
  return presented.kind === 'invalid' ? presented.expired : personOf(presented);
}

/** Returns the key, which is separate for each person with a valid token, or for each client address and user id. */
export function keyOf({ key, presented, address, user }: WebMessage): string | null {
  if (key === null) return null;
  const sender = presented.kind === 'person' ? ['person', presented.person] : ['client', address, user];
  return JSON.stringify([...sender, key]);
}

/** Whether the key belongs to an anonymous client (`toIdempotencyKey`). */
export function isOfAnonymous(key: string): boolean {
  return JSON.parse(key)[0] === 'client';
}

/** Two messages with equal fingerprints are the same message. Tokens do not count. */
export function fingerprintOf({ user, named, text }: WebMessage): string {
  return JSON.stringify([user, named, text]);
}

/** Whether the response says that the same message is being answered, because it was sent twice at the same time. */
export function isStillRunning({
  isConcurrent,
  status,
  code,
}: Pick<Seen, 'isConcurrent' | 'status' | 'code'>): boolean {
  return isConcurrent && code === 'duplicate_in_progress' && (status === 409 || status === 200);
}

export function expectRefusal({ status, code, marks }: Seen): Problem[] {
  if (marks.length > 0) return marksProblems(marks, []);
  const isRefused = status === 403 || (status === 200 && code === 'session_forbidden');
  return isRefused ? [] : [{ kind: 'not refused', text: `it must be refused, but was answered ${status}` }];
}

export function expectCode(
  { status, code }: { status: number; code: string | null },
  wanted: number,
): Problem[] {
  // A stream reports a failed run in an event.
  const isRight = status === wanted || (wanted === 502 && code === 'agent_failed');
  return isRight
    ? []
    : [
        {
          kind: 'refused',
          text: `it was answered ${status} ${code}, but should have been answered ${wanted}`,
        },
      ];
}

export function expectAnswer(
  seen: Seen,
  answer: Omit<Answer, 'fingerprint' | 'reader'>,
  { replayed }: { replayed: boolean },
): Problem[] {
  if (seen.status !== 200) return expectCode(seen, 200);
  if (replayed && !seen.replayed)
    return [{ kind: 'session', text: 'a repeated message was answered again instead of replayed' }];
  if (seen.session_id !== answer.session_id)
    return [{ kind: 'session', text: 'the answer to a repeated message names a different session' }];
  return marksProblems(seen.marks, answer.marks);
}

export function marksProblems(seen: readonly string[], expected: readonly string[]): Problem[] {
  const more = seen.filter((mark) => !expected.includes(mark));
  const less = expected.filter((mark) => !seen.includes(mark));
  const problems: Problem[] = [];
  if (more.length > 0) problems.push({ kind: 'leak', text: `it contains ${more.join(', ')}` });
  if (less.length > 0) problems.push({ kind: 'loss', text: `it does not contain ${less.join(', ')}` });
  return problems;
}
