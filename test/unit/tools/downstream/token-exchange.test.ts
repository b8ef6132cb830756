import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { TokenFailure } from '../../../../src/daemon/tools/downstream/token-cache.ts';
import { createTokenExchange } from '../../../../src/daemon/tools/downstream/token-exchange.ts';
import { signToken } from '../../../support/fake-api.ts';
import { EXCHANGE_CLIENT, FakeAuthorizationServer } from '../../../support/fake-authorization-server.ts';

const secret = 'a secret of the tests that is long enough';
const START = Date.parse('2026-01-01T12:00:00Z');
const subject = (sub = 'user-1', exp = START / 1000 + 3_600) =>
  new Secret(signToken({ sub, email: `${sub}@example.com`, exp }, secret));
const alice = subject();

let server: FakeAuthorizationServer;
let now: number;
beforeEach(async () => {
  now = START;
  server = await FakeAuthorizationServer.start();
});
afterEach(() => server.close());

const settings = (rest: object = {}) => ({
  url: server.url,
  client_id: EXCHANGE_CLIENT.client_id,
  client_secret: new Secret(EXCHANGE_CLIENT.client_secret),
  audience: 'billing',
  ...rest,
});
const create = (maxKept = 1_000) =>
  createTokenExchange({ clock: { now: () => now }, timeoutMs: 2_000, maxKept });

async function failureOf(work: Promise<unknown>): Promise<TokenFailure> {
  const error = await work.then(
    () => expect.fail('the call should have failed'),
    (caught: unknown) => caught,
  );
  if (!(error instanceof TokenFailure)) throw error;
  return error;
}

test('the exchange request is complete according to RFC 8693, and the client authenticates in a header', async () => {
  const token = await create().exchange('shop', settings(), alice);
  expect(token.reveal()).toBe('exchanged-1-for-billing');
  expect(server.wrong).toEqual([]);
  expect(server.exchanged).toEqual([alice.reveal()]);
});

test('each exchange request is counted for the source that needs the token', async () => {
  const ends: unknown[] = [];
  const observer = {
    downstreamEnded: (source: string, status: number | string) => void ends.push([source, status]),
  };
  const clock = { now: () => now };
  const exchange = createTokenExchange({ clock, timeoutMs: 2_000, observer });
  await exchange.exchange('shop', settings(), alice);
  await exchange.exchange('shop', settings(), alice);
  await failureOf(exchange.exchange('crm', settings({ client_secret: new Secret('wrong') }), alice));
  await failureOf(exchange.exchange('erp', settings({ url: 'http://127.0.0.1:1/token' }), alice));
  expect(ends).toEqual([
    ['shop', 200],
    ['crm', 400],
    ['erp', 'unreachable'],
  ]);
});

test('a refusal of the client has a message that contains no token', async () => {
  const failure = await failureOf(
    create().exchange('shop', settings({ client_secret: new Secret('wrong') }), alice),
  );
  expect(failure.reason).toBe('exchange_refused');
  expect(failure.message).toBe("The person's sign-in is not accepted by the other system.");
  expect(String(failure.cause)).toBe('Error: the token endpoint answered 400 invalid_request');
});

describe('the cache of exchanged tokens', () => {
  test('there is one exchange, however many calls wait for the token', async () => {
    const exchange = create();
    const tokens = await Promise.all(
      Array.from({ length: 50 }, () => exchange.exchange('shop', settings(), alice)),
    );
    expect(new Set(tokens.map((token) => token.reveal()))).toEqual(new Set(['exchanged-1-for-billing']));
    expect(server.exchanged).toHaveLength(1);
    await exchange.exchange('shop', settings(), alice);
    expect(server.exchanged).toHaveLength(1);
  });

  test('each person who waits at the same time gets their own token', async () => {
    const exchange = create();
    const persons = [alice, subject('user-2'), subject('user-3')];
    const tokens = await Promise.all(persons.map((one) => exchange.exchange('shop', settings(), one)));
    expect(tokens.map((token) => token.reveal())).toEqual(
      persons.map((one) => `exchanged-${server.exchanged.indexOf(one.reveal()) + 1}-for-billing`),
    );
  });

  test('there is a separate token for each person, source and audience', async () => {
    const exchange = create();
    const first = await exchange.exchange('shop', settings(), alice);
    const others = [
      await exchange.exchange('shop', settings(), subject('user-2')),
      await exchange.exchange('other', settings(), alice),
    ];
    expect([first, ...others].map((token) => token.reveal())).toEqual(
      [1, 2, 3].map((number) => `exchanged-${number}-for-billing`),
    );
    await failureOf(exchange.exchange('shop', settings({ audience: 'else' }), alice));
    expect(server.wrong).toEqual(['audience: else']);
  });

  test('a token is not used after expires_in', async () => {
    const exchange = create();
    await exchange.exchange('shop', settings(), alice);
    now += 594_000;
    await exchange.exchange('shop', settings(), alice);
    expect(server.exchanged).toHaveLength(1);
    now += 6_000;
    await exchange.exchange('shop', settings(), alice);
    expect(server.exchanged).toHaveLength(2);
  });

  test('a token is not used after its own exp', async () => {
    const exp = START / 1000 + 60;
    server.answer = { token_type: 'bearer', expires_in: 6_000, access_token: signToken({ exp }, secret) };
    const exchange = create();
    await exchange.exchange('shop', settings(), alice);
    now += 60_000;
    await exchange.exchange('shop', settings(), alice);
    expect(server.exchanged).toHaveLength(2);
  });

  test("a token is not used after the exp of the person's token, and an expired token is not exchanged", async () => {
    const exchange = create();
    const short = subject('user-1', START / 1000 + 60);
    await exchange.exchange('shop', settings(), short);
    now += 60_000;
    expect(await failureOf(exchange.exchange('shop', settings(), short))).toMatchObject({
      reason: 'subject_expired',
      message: 'The sign-in of the person has expired.',
    });
    expect(server.exchanged).toHaveLength(1);
  });

  test.each([{}, { expires_in: null }])(
    'a token without an expiry is kept for a minute: %j',
    async (answer) => {
      server.answer = answer;
      const exchange = create();
      await exchange.exchange('shop', settings(), alice);
      now += 54_000;
      await exchange.exchange('shop', settings(), alice);
      expect(server.exchanged).toHaveLength(1);
      now += 6_000;
      await exchange.exchange('shop', settings(), alice);
      expect(server.exchanged).toHaveLength(2);
    },
  );

  test('a token that was refused is replaced by another exchange', async () => {
    const exchange = create();
    exchange.refused(await exchange.exchange('shop', settings(), alice));
    expect((await exchange.exchange('shop', settings(), alice)).reveal()).toBe('exchanged-2-for-billing');
  });

  test('the number of tokens is limited, and the least recently used token is dropped first', async () => {
    const exchange = create(2);
    const use = async (sub: string) => void (await exchange.exchange('shop', settings(), subject(sub)));
    for (const sub of ['a', 'b', 'a', 'c', 'a']) await use(sub);
    expect(server.exchanged).toHaveLength(3);
    await use('b');
    expect(server.exchanged).toHaveLength(4);
  });
});

describe('failures of the exchange', () => {
  test('a failure is not kept in the cache', async () => {
    const exchange = create();
    server.instead = { status: 500, body: 'oops' };
    expect(await failureOf(exchange.exchange('shop', settings(), alice))).toMatchObject({
      reason: 'exchange_failed',
      message: 'Signing in to the other system is not possible at the moment.',
    });
    server.instead = null;
    await exchange.exchange('shop', settings(), alice);
  });

  test.each([
    ['no token', { access_token: undefined }],
    ['a token with a line break', { access_token: 'a\r\nX-Evil: 1' }],
    ['a type other than bearer', { token_type: 'N_A' }],
    ["the person's own token", { access_token: alice.reveal() }],
  ])('an answer with %s is treated as a failure', async (_, answer) => {
    server.answer = answer;
    expect((await failureOf(create().exchange('shop', settings(), alice))).reason).toBe('exchange_failed');
  });

  test("the person's own token is not kept either, and the cause says what the endpoint did", async () => {
    server.answer = { access_token: alice.reveal() };
    const exchange = create();
    const failure = await failureOf(exchange.exchange('shop', settings(), alice));
    expect(String(failure.cause)).toBe("Error: the token endpoint answered with the person's own token");
    server.answer = {};
    const token = await exchange.exchange('shop', settings(), alice);
    expect(token.reveal()).not.toBe(alice.reveal());
  });

  test('a redirect is not followed', async () => {
    const elsewhere = await FakeAuthorizationServer.start();
    server.instead = { status: 307, body: '', headers: { location: elsewhere.url } };
    expect((await failureOf(create().exchange('shop', settings(), alice))).reason).toBe('exchange_failed');
    expect(elsewhere.exchanged).toEqual([]);
    await elsewhere.close();
  });

  test('the message of the endpoint about a refusal is not passed on', async () => {
    server.instead = { status: 400, body: JSON.stringify({ error: `bad ${alice.reveal()}` }) };
    const failure = await failureOf(create().exchange('shop', settings(), alice));
    expect(`${failure.message} ${String(failure.cause)}`).not.toContain(alice.reveal());
  });

  test('a call that is aborted does not affect the other calls', async () => {
    const gate = Promise.withResolvers<void>();
    server.wait = gate.promise;
    const exchange = create();
    const controller = new AbortController();
    const aborted = exchange.exchange('shop', settings(), alice, controller.signal);
    const waiting = exchange.exchange('shop', settings(), alice, new AbortController().signal);
    controller.abort(new Error('deadline'));
    await expect(aborted).rejects.toThrow('deadline');
    gate.resolve();
    expect((await waiting).reveal()).toBe('exchanged-1-for-billing');
  });
});
