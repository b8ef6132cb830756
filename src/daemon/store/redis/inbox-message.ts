import type { AttemptOutcome, InboxMessage, NewInboxMessage } from '../inbox.ts';
import { type InboxChange, settled } from '../settled.ts';

/** The name under which the facts about a platform's message are stored. */
export function seenName(platform: string, message_id: string): string {
  return `${platform}:${message_id}`;
}

/** A new message, in the form that scripts expect. */
export function storedMessage({ reply, ...message }: NewInboxMessage) {
  const { id, queue, platform, message_id, request_id, session_id, user_id } = message;
  return {
    ...{ id, queue, platform, doc: JSON.stringify(message) },
    names: JSON.stringify([queue, platform, message_id, request_id, session_id]),
    ...(message.message !== null && { is_run: 1 }),
    ...(message_id !== null && { seen: seenName(platform, message_id) }),
    ...(user_id !== null && { user_id }),
    ...(reply !== null && { reply }),
  };
}

const NUMBERS = [
  ...['received_at', 'attempts', 'passing', 'first_run_at', 'sends', 'text_stored_at', 'parts_sent'],
  ...['interrupted', 'next_attempt_at', 'ended_at'],
];

/** A message from the fields and values of its hash. */
export function messageOf(flat: readonly string[]): InboxMessage {
  const fields = new Map<string, string>();
  for (let place = 0; place < flat.length; place += 2)
    fields.set(flat[place] as string, flat[place + 1] as string);
  const doc: NewInboxMessage = JSON.parse(fields.get('doc') ?? '');
  const edited = fields.get('text');
  if (edited !== undefined && doc.message !== null)
    Object.assign(doc.message, { text: edited, edited: true });
  const numbers = NUMBERS.map((name) => [name, fields.has(name) ? Number(fields.get(name)) : null]);
  return {
    ...doc,
    ...Object.fromEntries(numbers),
    state: fields.get('state'),
    reply: fields.get('reply') ?? null,
    question: JSON.parse(fields.get('question') ?? 'null'),
    notice: fields.get('notice') ?? null,
    failure: fields.get('failure') ?? null,
    notice_failure: fields.get('notice_failure') ?? null,
  } as InboxMessage;
}

const TIMES: readonly string[] = ['next_attempt_at', 'text_stored_at', 'first_run_at', 'ended_at'];

/**
 * The changes that `settled` makes to a message, in the form that scripts expect. `settled` is called with the time 0,
 * so the times that it returns are relative, and the script adds the current time.
 */
export function changesOf(message: InboxMessage, outcome: AttemptOutcome): string {
  const changes = {
    set: {} as Record<string, unknown>,
    times: {} as Record<string, unknown>,
    del: [] as string[],
  };
  // The number of sent parts may have changed since the message was read, so it is written only if the outcome sets it.
  const before = { ...message, parts_sent: -1 };
  const after = settled(before, outcome, 0);
  for (const field of Object.keys(after) as (keyof InboxChange)[]) {
    const value = after[field];
    if (value === before[field]) continue;
    if (value === null) changes.del.push(field);
    else changes[TIMES.includes(field) ? 'times' : 'set'][field] = value;
  }
  return JSON.stringify(changes);
}

/** A message after its reply was stored and the first attempt to send it has begun. */
export function withReply(message: InboxMessage, reply: string): InboxMessage {
  return { ...message, reply, state: 'replied', sends: 1, failure: null, interrupted: 0 };
}

/** A message, and its place in the order in which messages were stored. */
export interface NumberedMessage {
  message: InboxMessage;
  number: number;
}

/** The newest messages, newest first. */
export function newestOf(found: NumberedMessage[], limit: number): InboxMessage[] {
  const newest = found.sort((a, b) => b.number - a.number).slice(0, limit);
  return newest.map(({ message }) => message);
}

export function numberedOf(fields: readonly string[]): NumberedMessage {
  return { message: messageOf(fields), number: Number(fields[fields.indexOf('number') + 1]) };
}
