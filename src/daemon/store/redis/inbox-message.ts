import type { AttemptOutcome, InboxMessage, NewInboxMessage } from '../inbox.ts';
import { type InboxChange, settled } from '../settled.ts';

/** What was noted of a platform's message, by this name. */
export function seenName(platform: string, message_id: string): string {
  return `${platform}:${message_id}`;
}

/** A new message as scripts take it. */
export function storedMessage({ reply, ...message }: NewInboxMessage) {
  const { id, queue, platform, message_id, request_id, session_id } = message;
  return {
    ...{ id, queue, platform, doc: JSON.stringify(message) },
    names: JSON.stringify([queue, platform, message_id, request_id, session_id]),
    ...(message.message !== null && { is_run: 1 }),
    ...(message_id !== null && { seen: seenName(platform, message_id) }),
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
  if (edited !== undefined && doc.message !== null) doc.message.text = edited;
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
 * What `settled` changes of a message, as scripts take it. It is asked with the time 0, so that a time which it sets says
 * how long after now, and the script adds its own.
 */
export function changesOf(message: InboxMessage, outcome: AttemptOutcome): string {
  const changes = {
    set: {} as Record<string, unknown>,
    times: {} as Record<string, unknown>,
    del: [] as string[],
  };
  // What was sent may have been noted since the message was read: it is written only if the outcome sets it.
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

/** A message once its reply is stored and the first attempt to send it has begun. */
export function withReply(message: InboxMessage, reply: string): InboxMessage {
  return { ...message, reply, state: 'replied', sends: 1, failure: null, interrupted: 0 };
}
