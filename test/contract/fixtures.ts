import { randomUUID } from 'node:crypto';
import type { GuardLimits } from '../../src/daemon/guard/verdict.ts';
import { personKey } from '../../src/daemon/identity/identity.ts';
import { type Session, type StoredTurn, sessionTag } from '../../src/daemon/session/session.ts';
import type { NewAction, NewPendingAction } from '../../src/daemon/store/actions/actions.ts';
import type { NewInboxMessage } from '../../src/daemon/store/inbox/inbox.ts';
import type { NewWaitingQuestion } from '../../src/daemon/store/links/waiting-questions.ts';
import type { NewRecording } from '../../src/daemon/store/recordings.ts';
import type { NewStream } from '../../src/daemon/store/streams.ts';
import type { TraceRecord } from '../../src/daemon/trace/trace-record.ts';

const HOUR = 60 * 60 * 1000;
/** Time to live of `aStream`, ms. */
export const STREAM_TTL = 300_000;

export const ada = personKey({ sub: 'ada' });
export const bob = personKey({ sub: 'bob' });

/** A session that lives for an hour, with a random id. */
export function aSession(now: number, members: Partial<Session> = {}): Session {
  return {
    session_id: randomUUID(),
    former_id: null,
    user_id: 'u1',
    platform: 'chat',
    namespace: 'web',
    generated: false,
    owner: null,
    metadata: {},
    credential_owner: null,
    turns: 0,
    created_at: now,
    last_active_at: now,
    expires_at: now + HOUR,
    ...members,
  };
}

/** An answered turn without a signed-in person. */
export function aTurn(members: Partial<StoredTurn> = {}): StoredTurn {
  return {
    turn_id: randomUUID(),
    request_id: randomUUID(),
    message_id: null,
    user_id: 'u1',
    person: null,
    text: 'question',
    reply: 'answer',
    outcome: 'answered',
    failure: null,
    credentials: 'default',
    credentials_reason: 'no_token',
    started_at: 1,
    finished_at: 2,
    ...members,
  };
}

/** The trace of a turn in this session, or without a session. */
export function aTrace(session: Session | null, members: Partial<TraceRecord> = {}): TraceRecord {
  return {
    turn_id: randomUUID(),
    request_id: randomUUID(),
    session_id: session?.session_id ?? null,
    message_id: null,
    platform: 'chat',
    user_id: 'u1',
    started_at: 1,
    finished_at: 2,
    outcome: 'answered',
    lines: [
      {
        at: 1,
        step: 'identify',
        verdict: 'fallback',
        reason: 'Token Expired',
        detail: { tries: 1 },
        took_ms: 1,
      },
    ],
    ...members,
  };
}

/** The recording of a run without a person, in a session that is not stored. */
export function aRecording(members: Partial<NewRecording> = {}): NewRecording {
  const turn_id = members.turn_id ?? randomUUID();
  const session_id = members.session_id ?? randomUUID();
  return {
    ...{ turn_id, request_id: randomUUID(), message_id: null, platform: 'chat' },
    ...{ session_id, session_tag: session_id, turns: [turn_id], users: ['u1'], persons: [] },
    ...{ provisional: false, content: 'what was said' },
    ...members,
  };
}

/** A message in its own session, without a message id. `text` sets the text of `message`. */
export function anInboxMessage(members: Partial<NewInboxMessage> & { text?: string } = {}): NewInboxMessage {
  const { text = 'question', ...rest } = members;
  const session_id = rest.session_id ?? `chat:${randomUUID()}`;
  return {
    id: randomUUID(),
    platform: 'chat',
    queue: session_id,
    session_id,
    message_id: null,
    user_id: rest.message === null ? null : (rest.message?.user_id ?? 'u1'),
    message: {
      platform: 'chat',
      user_id: 'u1',
      channel_id: 'c1',
      thread_id: session_id,
      text,
      metadata: { user_name: 'U' },
      shared: true,
    },
    reply_to: { place: 'c1' },
    reply: null,
    sent_at: 1,
    request_id: randomUUID(),
    ...rest,
  };
}

/** A question that its sender `u1` asked in this session, and that waits for sign-in. */
export function aWaitingQuestion(
  { session_id, platform }: Session,
  members: Partial<NewWaitingQuestion> & { text?: string; user_id?: string; turn_id?: string } = {},
): NewWaitingQuestion {
  const { text = 'question', user_id = 'u1', turn_id = randomUUID(), ...rest } = members;
  const message = anInboxMessage({ platform, session_id, queue: session_id, user_id, text });
  if (message.message) message.message = { ...message.message, platform, user_id };
  return {
    link_key: `${platform}:jwt:${user_id}`,
    message: { ...message, session_id, rerun: { turn_id, message_id: null, received_at: 1 } },
    ttl_ms: HOUR,
    unlinked_at: null,
    ...rest,
  };
}

/** A write without a signed-in person, in a session that is not stored. */
export function anAction(members: Partial<NewAction> = {}): NewAction {
  return {
    action_id: randomUUID(),
    session_tag: 's',
    session_id: 's',
    platform: 'chat',
    user_id: 'u1',
    alias_id: null,
    person: null,
    operator: null,
    turn_key: randomUUID(),
    tool: 'shop_cancelOrder',
    args: '{"id":7}',
    summary: 'Cancel order 7',
    ...members,
  };
}

/**
 * An action that the channel user of a session must confirm. Its question counts as asked when the turn is committed.
 */
export function aPendingAction(session: Session, members: Partial<NewPendingAction> = {}): NewPendingAction {
  const { session_id, platform, user_id } = session;
  return {
    ...anAction({ session_id, platform, user_id }),
    session_tag: sessionTag(session),
    principal: `${platform}:${user_id}`,
    asked_by: null,
    answer_ms: HOUR / 4,
    unasked_ms: HOUR / 2,
    ...members,
  };
}

/** The default limits of the loop guard. */
export const GUARD_LIMITS: GuardLimits = {
  max_messages: 5,
  window_ms: 10_000,
  cooldown_ms: 30_000,
  max_turns: 200,
  repeat_threshold: 3,
  repeat_window_ms: 60_000,
  session_ttl_ms: 3_600_000,
};

/** A stream that nobody has opened. */
export function aStream(members: Partial<NewStream> = {}): NewStream {
  return {
    stream_id: randomUUID(),
    idempotency_key: null,
    fingerprint: 'body',
    owner: null,
    token: null,
    start: {
      request_id: 'r1',
      session_id: 's1',
      session_is_generated: true,
      counted_in: null,
      message: {
        platform: 'chat',
        user_id: 'u1',
        channel_id: 'u1',
        thread_id: null,
        text: 'Hi',
        metadata: { jwt_token: null },
      },
      address: '192.0.2.1',
      token_given: false,
      cookie_person: null,
      accepted_at: 1,
      trace: [{ at: 1, step: 'identify', verdict: 'ok' }],
    },
    ttl_ms: STREAM_TTL,
    ...members,
  };
}
