import { beforeAll, expect, it } from 'vitest';
import { type Shop, startShop } from '../support/shop.ts';

// Tests agentd-service(7), "POST /webchat/message", with its errors and its Idempotency-Key.

const HELLO = { user_id: 'visitor', message: 'Hello' };

let shop: Shop;
beforeAll(async () => {
  shop = await startShop();
});

it('answers in the same response with response, session_id and metadata', async () => {
  const metadata = { page_url: 'https://www.example.com', other: [1] };
  const answer = await shop.say({ ...HELLO, session_id: 'mine', metadata });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(answer.body).toEqual({
    response: expect.stringMatching(/\S/),
    session_id: 'mine',
    metadata: { platform: 'webchat', user_id: 'visitor', message_id: expect.any(String) },
  });
  const [turn] = (await shop.session('mine')).turns;
  expect(turn.turn_id).toBe(answer.body.metadata.message_id);
});

it('answers a request with several wrong fields with one problem document that has an error for each', async () => {
  const { status, headers, body } = await shop.say({ user_id: '', session_id: 7 });
  expect([status, headers.get('content-type')]).toEqual([400, 'application/problem+json']);
  expect(body).toEqual({
    type: 'about:blank',
    title: expect.stringMatching(/^[A-Z]/),
    status,
    detail: expect.stringMatching(/\S/),
    code: 'invalid_request',
    request_id: headers.get('x-request-id'),
    errors: ['user_id', 'message', 'session_id'].map((field) => expect.objectContaining({ field })),
  });
});

it('writes the X-Request-Id to the log lines of the request and of its agent run', async () => {
  const request_id = 'on-every-line';
  await shop.say({ ...HELLO, message: 'ada@example.com' }, { headers: { 'X-Request-Id': request_id } });
  await shop.daemon.logged((line) => line.request_id === request_id && line.msg === 'message answered');
  const lines = shop.daemon.log().filter((line) => line.request_id === request_id);
  expect(lines.map((line) => line.msg)).toContain('tool uses default credentials: no_jwt_context');
});

it('answers a repeat of a finished request with the first answer, marked as a repeat, and adds no turn', async () => {
  const headers = { 'Idempotency-Key': 'repeat-1' };
  const first = await shop.say(HELLO, { headers });
  const again = await shop.say(HELLO, { headers });
  expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([200, null]);
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
  expect(again.body).toEqual(first.body);
  expect((await shop.session(first.body.session_id)).turns).toHaveLength(1);
  await shop.daemon.logged(
    (line) => line.msg === '[LoopGuard] DUPLICATE platform=webchat user=visitor message_id=repeat-1',
  );
});
