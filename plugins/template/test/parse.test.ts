import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCommand } from '../commands.ts';
import { parse } from '../parse.ts';

const DELIVERY = {
  type: 'message',
  id: 'm1',
  sent_at: 1_795_298_073_000,
  from: { id: 'ada', name: 'Ada' },
  room: 'common-room',
  shared: true,
  thread: 't1',
  text: ' Who am I? ',
};

test('a message has a session id and the destination of its reply', () => {
  assert.deepEqual(parse(DELIVERY), {
    kind: 'message',
    message: {
      platform: 'pigeonpost',
      user_id: 'ada',
      channel_id: 'common-room',
      thread_id: 'pigeonpost:common-room:t1',
      message_id: 'm1',
      text: 'Who am I?',
      shared: true,
      metadata: { user_name: 'Ada' },
      sent_at: 1_795_298_073_000,
      reply_to: { room: 'common-room', thread: 't1' },
    },
  });
});

test('an edit names the message that it changes', () => {
  const edit = { ...DELIVERY, type: 'edit', text: 'Who are you?' };
  const message = parse(DELIVERY);
  assert.ok(message?.kind === 'message');
  const { user_id, thread_id } = message.message;
  const edited = { message_id: 'm1', user_id, thread_id, text: 'Who are you?' };
  assert.deepEqual(parse(edit), { kind: 'edit', edited });
});

test('other deliveries are acknowledged, and malformed ones are refused', () => {
  assert.deepEqual(parse({ type: 'reaction' }), { kind: 'other' });
  assert.deepEqual(parse({ ...DELIVERY, text: ' ' }), { kind: 'other' });
  assert.equal(parse({ ...DELIVERY, from: 'ada' }), null);
  assert.equal(parse({ ...DELIVERY, room: 'a room' }), null);
});

test('a command is read from a form', () => {
  const form = new URLSearchParams('id=m1&from=ada&command=%2Fsign-in&text=+a.b.c');
  assert.deepEqual(parseCommand(form), { id: 'm1', user_id: 'ada', name: '/sign-in', argument: 'a.b.c' });
  form.delete('from');
  assert.equal(parseCommand(form), null);
});
