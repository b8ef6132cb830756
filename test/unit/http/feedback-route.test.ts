import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openComment } from '../../../src/daemon/feedback/rate-answer.ts';
import { feedbackRoute } from '../../../src/daemon/http/feedback-route.ts';
import { type PersonKey, personKey } from '../../../src/daemon/identity/identity.ts';
import { createSeal, SEALED } from '../../../src/daemon/identity/seal.ts';
import { MASKED_CODE } from '../../../src/daemon/linking/codes-in-text.ts';
import { createCode } from '../../../src/daemon/linking/create-code.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { NO_OBSERVER } from '../../../src/daemon/trace/observer.ts';
import { aSession } from '../../contract/fixtures.ts';
import { keepTurn, saveSession } from '../../contract/store-writes.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { closeAll, post, problem, type Served, serve } from './serve.ts';

const ANA = { Authorization: 'Bearer good-ana' };
const BO = { Authorization: 'Bearer good-bo' };
const seal = createSeal(new Secret(randomBytes(32).toString('base64')));

describe('POST /feedback', () => {
  let web: Served;
  let clock: VirtualClock;
  let store: ReturnType<typeof openMemoryStore>;
  let counted: string[];

  beforeEach(async () => {
    clock = new VirtualClock(Date.now());
    store = openMemoryStore(new MemoryState(), { clock });
    counted = [];
    const observer = {
      ...NO_OBSERVER,
      answerRated: (...of: unknown[]) => void counted.push(of.join(' ')),
    };
    const route = feedbackRoute({ store, seal, observer, secrets: [new Secret('the API key')] }, ['web']);
    web = await serve({
      routes: [route],
      settings: { BODY_LIMIT_BYTES: 8192, RATE_LIMIT_TOKEN_MAX: 20, RATE_LIMIT_ANONYMOUS_MAX: 20 },
    });
    await answer('anas', personKey({ sub: 'ana' }));
    await answer('nobodys', null);
  });
  afterEach(closeAll);

  /** Stores a session `s-NAME` with one turn, NAME, which acted for this person. */
  async function answer(name: string, person: PersonKey | null): Promise<void> {
    const session = aSession(clock.now(), { session_id: `s-${name}`, owner: person });
    await saveSession(store, session);
    await keepTurn(store, session, { turn_id: name, person, finished_at: clock.now() });
  }
  const rate = (name: string, headers: Record<string, string> = {}, members: object = {}) =>
    post(
      `${web.url}/feedback`,
      JSON.stringify({ session_id: `s-${name}`, message_id: name, rating: 1, ...members }),
      headers,
    );
  const statusOf = async (...given: Parameters<typeof rate>) => (await rate(...given)).status;

  test('takes a rating of an answer, of which the newest counts', async () => {
    const first = await rate('nobodys', {}, { comment: ' Well done. ' });
    expect([first.status, await first.json()]).toEqual([200, { message_id: 'nobodys', rating: 1 }]);
    const [stored] = await store.feedback.ofTurns(['nobodys']);
    expect(stored).toMatchObject({ rating: 1, comment: expect.stringMatching(`^${SEALED}`) });
    expect(stored && openComment(seal, stored)).toBe('Well done.');
    // A comment that is moved to the rating of another turn cannot be read there.
    expect(stored && openComment(seal, { ...stored, turn_id: 'anas' })).toBeNull();
    expect(await statusOf('nobodys', {}, { rating: -1, comment: null })).toBe(200);
    expect(await store.feedback.ofTurns(['nobodys'])).toMatchObject([{ rating: -1, comment: null }]);
    await rate('nobodys', {}, { rating: -1 });
    expect(counted).toEqual(['chat 1', 'chat -1']);
  });

  test('marks the recording of the run, unless the rating is refused', async () => {
    const recording = {
      ...{ turn_id: 'anas', request_id: 'r', message_id: null, platform: 'chat', session_id: 's-anas' },
      ...{ session_tag: 's-anas', turns: ['anas'], users: [], persons: [], provisional: true, content: 'x' },
    };
    await store.recordings.keep(recording);
    await rate('anas');
    expect(await store.recordings.find('anas')).toMatchObject({ provisional: true });
    await rate('anas', ANA);
    expect(await store.recordings.find('anas')).toMatchObject({ provisional: false });
  });

  test('answers 404 to everybody without the token of the person whose turn it is', async () => {
    const refused = [
      await rate('anas'),
      await rate('anas', BO),
      await rate('anas', { Authorization: 'Bearer bad' }),
      await rate('anas', BO, { jwt_token: 'good-ana' }),
      await rate('anas', {}, { metadata: { jwt_token: 'good-ana' } }),
      await rate('anas', { Authorization: 'Bearer old-ana' }),
      await rate('unknown', ANA),
      await rate('anas', ANA, { session_id: 's-nobodys' }),
    ];
    const { detail } = await problem((await rate('unknown')) as Response);
    for (const response of refused) {
      expect(response.status).toBe(404);
      expect(await problem(response)).toMatchObject({ code: 'not_found', detail });
    }
    expect(await store.feedback.list({ limit: 9 })).toEqual([]);
    expect(await statusOf('anas', ANA)).toBe(200);
    expect(await statusOf('anas', {}, { jwt_token: 'good-ana', rating: -1 })).toBe(200);
    expect(await store.feedback.list({ limit: 9 })).toMatchObject([{ turn_id: 'anas', rating: -1 }]);
  });

  test('masks tokens and known secrets in a comment', async () => {
    const comment = 'It said the API key, eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbmEifQ.c2ln too';
    await rate('nobodys', {}, { comment });
    const [stored] = await store.feedback.ofTurns(['nobodys']);
    expect(stored && openComment(seal, stored)).toMatch(/^It said \S+, \[token\] too$/);
  });

  test('masks link codes of people in a comment', async () => {
    const given = { person: personKey({ sub: 'ana' }), token: 'token', lifetime_ms: 60_000 };
    const { code } = await createCode({ store, seal }, given);
    await rate('nobodys', {}, { comment: `I sent ${code} and 2345ABCDEF` });
    const [stored] = await store.feedback.ofTurns(['nobodys']);
    expect(stored && openComment(seal, stored)).toBe(`I sent ${MASKED_CODE} and 2345ABCDEF`);
  });

  test('names every wrong field', async () => {
    const comment = '😀'.repeat(1000);
    expect(await statusOf('nobodys', {}, { comment })).toBe(200);
    const wrong = { session_id: 'x'.repeat(513), message_id: '', rating: 2, comment: `${comment}!` };
    const refused = await rate('nobodys', {}, wrong);
    expect(refused.status).toBe(400);
    const { code, errors } = await problem(refused);
    expect([code, errors?.map(({ field }) => field)]).toEqual([
      'invalid_request',
      ['session_id', 'message_id', 'rating', 'comment'],
    ]);
  });

  test('can be called by pages of allowed origins, and is limited with the messages of the sender', async () => {
    const response = await rate('nobodys', { Origin: 'https://shop.example' });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(response.headers.get('ratelimit')).toContain('"address"');
    await rate('anas', ANA);
    expect(web.hits).toEqual(['http:address:127.0.0.1', 'http:person:["","","ana"]']);
  });
});
