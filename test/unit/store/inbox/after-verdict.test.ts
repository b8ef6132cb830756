import { expect, it } from 'vitest';
import type { GuardVerdict } from '../../../../src/daemon/guard/verdict.ts';
import { guardUser } from '../../../../src/daemon/message/keys.ts';
import { afterVerdict } from '../../../../src/daemon/store/inbox/after-verdict.ts';
import type { ScreenedMessage } from '../../../../src/daemon/store/inbox/inbox.ts';
import { anInboxMessage } from '../../../contract/fixtures.ts';

const message = anInboxMessage({ session_id: 'chat:c1', message_id: 'm1' }) as ScreenedMessage['message'];
const notice = anInboxMessage({
  session_id: null,
  queue: 'chat/c1',
  message: null,
  reply: 'All {max} messages were used. It goes on after {time} (UTC).',
});
const user = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });
const guarded = { user, session_id: 'chat:c1', text: 'hash', message_id: 'm1', sent_at: 1 };
const arrival: ScreenedMessage = { message, guarded, notice };

const passed: GuardVerdict = { allowed: true, repeated: false, messages: 1, equal_texts: 1, turns: 1 };
const overLimit: GuardVerdict = {
  ...{ allowed: false, repeated: false, reason: 'turn_limit', first: true },
  ...{ turns: 2, max: 2, blocked: 1, ends_at: Date.UTC(2030, 0, 2, 3, 4, 5) },
};
const inCircuit: GuardVerdict = {
  ...{ allowed: false, repeated: false, reason: 'rate_limit', opened: true },
  ...{ count: 6, max: 5, blocked: 1, retry_after_ms: 30_000 },
};

it('afterVerdict stores an allowed message, even if it is repeated, because the inbox may have lost it', () => {
  expect(afterVerdict(arrival, passed, 5)).toEqual({ message, trace: null });
  expect(afterVerdict(arrival, { ...passed, repeated: true }, 5)).toEqual({ message, trace: null });
});

it('afterVerdict stores only a trace of a blocked message', () => {
  expect(afterVerdict(arrival, inCircuit, 5)).toEqual({
    message: null,
    trace: {
      turn_id: message.id,
      request_id: message.request_id,
      session_id: 'chat:c1',
      message_id: 'm1',
      platform: 'chat',
      user_id: 'u1',
      started_at: 5,
      finished_at: 5,
      outcome: 'loop_guard_blocked',
      lines: [
        {
          at: 5,
          step: 'guard',
          verdict: 'refused',
          reason: 'rate_limit',
          detail: { count: 6, max: 5, blocked: 1, retry_after_ms: 30_000 },
        },
      ],
    },
  });
});

it('afterVerdict stores a notice for the first message over the turn limit of its session, and for no other message', () => {
  const { message: stored, trace } = afterVerdict(arrival, overLimit, 5);
  const reply = 'All 2 messages were used. It goes on after 2030-01-02 03:04 (UTC).';
  expect(stored).toEqual({ ...notice, message_id: 'm1', reply });
  expect(trace?.lines[0]?.reason).toBe('turn_limit');
  expect(afterVerdict(arrival, { ...overLimit, first: false, blocked: 2 }, 5)).toMatchObject({
    message: null,
    trace: { outcome: 'loop_guard_blocked' },
  });
});

it('afterVerdict stores the notice for a repeated blocked message again, but stores no second trace', () => {
  // The notice is stored again because the inbox may have been full.
  expect(afterVerdict(arrival, { ...inCircuit, repeated: true }, 5)).toEqual({ message: null, trace: null });
  expect(afterVerdict(arrival, { ...overLimit, repeated: true }, 5)).toEqual({
    message: afterVerdict(arrival, overLimit, 5).message,
    trace: null,
  });
});
