import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { guardUser } from '../../../src/daemon/message/keys.ts';
import { STORE_PORTS } from '../../../src/daemon/metrics/measured-store.ts';
import { RedisConnection } from '../../../src/daemon/store/kernels/redis/connection.ts';
import { openRedisStore } from '../../../src/daemon/store/kernels/redis/store.ts';
import type { RenewalClaim } from '../../../src/daemon/store/links/link-renewals.ts';
import type { StoredToken } from '../../../src/daemon/store/persons/stored-tokens.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import {
  ada,
  anAction,
  anInboxMessage,
  aPendingAction,
  aRecording,
  aSession,
  aStream,
  aTrace,
  aTurn,
  aWaitingQuestion,
  GUARD_LIMITS,
} from '../../contract/fixtures.ts';
import { commitUnderClaim, saveSession } from '../../contract/store-writes.ts';
import { aResident, fillAsPerson, fillAsUser } from '../../support/person-world.ts';
import { hasRedis, type RedisServer, startRedis } from '../../support/redis-server.ts';

// agentd-store(7), REDIS_DURABILITY: each method that writes has waited for the disk when it resolves, or is named here.

const HOUR = 3_600_000;
const CODE = { person: ada, token: 'code token', ttl_ms: HOUR };
/** Changes that nobody is told of before a later change is durable. */
const LAZY = ['guard.check without an id', 'limits.hit'];
/** Whoever holds a claim that Redis has forgotten stores nothing more. */
const CLAIMS = [
  ...['sessions.claim', 'sessions.renew', 'sessions.release', 'sessions.wait', 'sessions.leave', 'beginTurn'],
  ...['idempotency.claim', 'idempotency.renew', 'idempotency.release'],
  ...['inbox.claim', 'inbox.take', 'inbox.renew', 'inbox.reap'],
  ...['streams.renew', 'streams.release', 'summaries.begin', 'linkRenewals.take'],
];
/** On disk, whatever REDIS_DURABILITY is. */
const JOURNAL = ['actions.start', 'actions.restart', 'actions.settle', 'actions.answer', 'signOutMarks.add'];
const READS = [
  ...['sessions.find', 'sessions.history', 'sessions.turns', 'sessions.list'],
  ...['actions.pendingIn', 'actions.find', 'actions.ofQuestion', 'actions.ofTurn', 'actions.list'],
  ...['actions.sentIn', 'actions.wroteSince'],
  ...[
    'audit.list',
    'traces.find',
    'traces.findOf',
    'traces.recent',
    'streams.counts',
    'toolDigests.find',
    'toolDigests.list',
    'summaries.find',
    'guard.list',
  ],
  ...['idempotency.look', 'inbox.partsSent', 'inbox.nextDueAt', 'inbox.holdsInterrupted', 'inbox.list'],
  ...[
    'inbox.counts',
    'inbox.find',
    'inbox.search',
    'links.get',
    'links.find',
    'links.findByAlias',
    'links.ofPerson',
    'links.list',
  ],
  ...['ids.beginningWith', 'ids.shorten'],
  ...['feedback.list', 'feedback.ofTurns', 'feedback.findSent'],
  ...['linkCodes.find', 'linkCodes.known', 'linkCodes.claimedBy'],
  ...['recordings.find', 'recordings.sealedUnlike', 'outages.list'],
  ...['waitingQuestions.ofTurn', 'linkNotices.waiting'],
  ...['persons.show', 'replicas.list'],
  ...['signOutMarks.covers', 'signOutEnds.tokensOf', 'linkRenewals.refused', 'linkRenewals.find'],
  // It writes only what the next call would find again.
  'linkRenewals.due',
  ...['streams.find', 'streams.findByKey', 'streams.read', 'streams.subscribe'],
];

const withRedis = describe.skipIf(!hasRedis);
withRedis.each(['always', 'everysec'])('durability with REDIS_DURABILITY=%s', (setting) => {
  const isAlways = setting === 'always';
  let server: RedisServer;
  let store: Store;
  /** How often the store has waited until its writes were durable. */
  let waits = 0;
  /** How often an erasure has stored something, and how often it has waited. */
  let erasing = 0;
  let waitsOfErasing = 0;
  const waited = new Set<string>();
  const called = new Set<string>();

  beforeAll(async () => {
    server = await startRedis();
    vi.spyOn(RedisConnection.prototype, 'untilDurable').mockImplementation(async () => void waits++);
    // As with a server that can report what is on its disk.
    vi.spyOn(RedisConnection.prototype, 'lastsJournal', 'get').mockReturnValue(true);
    store = await openRedisStore({ url: server.url, isAlways });
    // A message is due again only after the clock of the server has moved on.
    await work();
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await store.close();
    await server.stop();
  });

  /** Calls a method that writes. Notes whether it has waited. */
  async function call<R>(name: string, result: () => Promise<R>): Promise<R> {
    const before = waits;
    const found = await result();
    called.add(name);
    if (waits > before) waited.add(name);
    return found;
  }

  /** Calls every method that writes, so that it changes something. */
  async function work(): Promise<void> {
    const { sessions, actions, streams, idempotency, links, guard, outages, summaries } = store;
    const session = aSession(Date.now(), { session_id: 's', user_id: 'u' });
    const claim = await call('sessions.claim', () => sessions.claim('s'));
    if (claim === null) throw new Error('no claim');
    await call('sessions.save', () => sessions.save(claim, session, 'new'));
    await call('sessions.renew', () => sessions.renew(claim));
    const user = guardUser({ platform: 'chat', user_id: 'u', person: null, address: null });
    const message = { user, session_id: 's', text: 'hash', message_id: null, sent_at: null };
    await call('guard.check without an id', () => guard.check(message, GUARD_LIMITS));
    await call('guard.check', () => guard.check({ ...message, message_id: 'm' }, GUARD_LIMITS));
    await call('guard.giveBackTurn', () => guard.giveBackTurn('s'));
    await call('limits.hit', () => store.limits.hit('k', { max: 3, window_ms: HOUR }));
    await call('budgets.reserve', () =>
      store.budgets.reserve('p', { id: 'r', tokens: 5, max: 100, ttl_ms: HOUR }),
    );
    await call('budgets.settle', () => store.budgets.settle('p', 'r', 3));

    await call('actions.start', () => actions.start(null, anAction({ action_id: 'a', session_tag: 's' })));
    await call('actions.finish', () =>
      actions.finish('a', 1, { state: 'unknown', status: null, answer: null }),
    );
    await call('actions.restart', () => actions.restart({ session: claim, key: null }, 'a', 1));
    const key = await call('idempotency.claim', () =>
      idempotency.claim('["chat",["client","x","k"]]', 'body'),
    );
    if (key.outcome !== 'new') throw new Error('no key');
    await call('idempotency.renew', () => idempotency.renew(key.claim));
    await call('commitTurn', () =>
      store.commitTurn(claim, {
        turn: { record: aTurn({ turn_id: 'rated', finished_at: Date.now() }), ttl_ms: HOUR },
        trace: aTrace(session),
        answer: { claim: key.claim, answer: { session_id: 's', response: 'x' }, ttl_ms: HOUR },
        pending: [aPendingAction(session, { action_id: 'pending' })],
      }),
    );
    await call('feedback.rate', () => {
      const rater = { kind: 'client', person: null, namespaces: ['web'] } as const;
      return store.feedback.rate({ session_id: 's', turn_id: 'rated', rating: 1, comment: null }, rater);
    });
    await call('actions.answer', () =>
      actions.answer(claim, { confirmed: ['pending'], declined: [], answered_at: 0 }, 't'),
    );
    await call('actions.settle', () => actions.settle(claim, 'pending', 'started', 't'));
    await store.commitTurn(claim, {
      turn: { record: aTurn(), ttl_ms: HOUR },
      trace: aTrace(session),
      pending: [aPendingAction(session, { action_id: 'next' })],
    });
    await call('actions.withdraw', () => actions.withdraw({ action_id: 'next' }));
    const token = await call('summaries.begin', () => summaries.begin('s', HOUR));
    const summary = { principal: ada, text: 'x', tainted: false, through_turn: 't', through_at: 1 };
    await call('summaries.keep', () => summaries.keep('s', token ?? '', summary));
    const place = { daemon: 'd', message: 1 };
    await call('sessions.wait', () => sessions.wait('s', place));
    await call('sessions.leave', () => sessions.leave('s', place));
    await call('sessions.release', () => sessions.release(claim));
    await call('beginTurn', () => store.beginTurn('s', 's', null));
    const answered = await idempotency.claim('["chat",["client","x","l"]]', 'body');
    const released = await idempotency.claim('["chat",["client","x","r"]]', 'body');
    if (answered.outcome !== 'new' || released.outcome !== 'new') throw new Error('no key');
    await call('idempotency.finish', () =>
      idempotency.finish(answered.claim, { session_id: 's', response: 'x' }, HOUR),
    );
    await call('idempotency.release', () => idempotency.release(released.claim));

    await messages();

    await call('streams.create', () => streams.create(aStream({ stream_id: 'st', token: 'stream token' })));
    const [found] = (await tokens()).filter(({ kind }) => kind === 'stream');
    await call('replaceToken', () => store.replaceToken(found as StoredToken, 'other'));
    const stream = await call('streams.claim', () => streams.claim('st', { owner: null, reader: null }));
    if (stream === null) throw new Error('no stream');
    await call('streams.renew', () => streams.renew(stream));
    await call('streams.append', () => streams.append(stream, [{ id: 1, event: 'text_chunk', data: '{}' }]));
    await call('streams.requestStop', () => streams.requestStop('st'));
    await call('streams.release', () => streams.release(stream));
    await call('streams.reap', () => streams.reap({ event: 'error', data: '{}' }));

    const link = { key: 'chat:jwt:u', token: 'token', person: ada, ttl_ms: HOUR };
    await call('links.put', () => links.put(link, null));
    await call('links.bindAlias', () => links.bindAlias(link.key, 'token', { alias: 'chat:x', person: ada }));
    await call('links.noteReassigned', () => links.noteReassigned(link.key, 'token'));
    await call('links.noteExpiryNotified', () => links.noteExpiryNotified(link.key, 'token'));
    await call('links.remove', () =>
      links.remove(link.key, undefined, { platform: 'chat', user_id: 'u', what: 'ended' }),
    );
    const [notice] = await store.linkNotices.waiting(['chat'], 1);
    if (notice === undefined) throw new Error('there is no notice');
    await call('linkNotices.settle', () => store.linkNotices.settle(notice, null));
    const asked = aSession(Date.now(), { session_id: 'asked', platform: 'chat' });
    await saveSession(store, asked);
    await commitUnderClaim(store, 'asked', {
      trace: aTrace(asked),
      turn: { record: aTurn(), ttl_ms: HOUR },
      waits: aWaitingQuestion(asked),
    });
    await call('waitingQuestions.end', () => store.waitingQuestions.end(['chat:jwt:u1']));
    await store.inbox.enqueue([anInboxMessage({ message_id: 'deleted' })]);
    await call('waitingQuestions.forget', () =>
      store.waitingQuestions.forget(['chat:jwt:u1'], { platform: 'chat', message_id: 'deleted' }),
    );

    await codes();

    await call('recordings.keep', () =>
      store.recordings.keep(aRecording({ turn_id: 'r', provisional: true })),
    );
    await call('recordings.mark', () => store.recordings.mark('r'));
    const content = (await store.recordings.find('r'))?.content ?? '';
    await call('recordings.reseal', () => store.recordings.reseal('r', content, 'other'));
    await call('outages.note', () => outages.note('chat', 'unreachable', 'x', 0));
    await call('outages.takeProbe', () => outages.takeProbe('chat', HOUR));
    await call('outages.hurry', () => outages.hurry('chat'));
    await call('outages.end', () => outages.end('chat'));
    const seen = { digest: 'd', title: null, description: 'x', schema: '{}' };
    await call('toolDigests.observe', () => store.toolDigests.observe('tool', 'docs', seen));
    await store.toolDigests.observe('tool', 'docs', { ...seen, digest: 'changed' });
    await call('toolDigests.trust', () => store.toolDigests.trust('tool', 'changed'));
    await call('traces.keep', () => store.traces.keep(aTrace(null)));
    await call('traces.keepRefused', () => store.traces.keepRefused(aTrace(null)));
    await call('audit.note', () => store.audit.note({ action: 'x', actor: 'y' } as never));
    await call('audit.key', () => store.audit.key());
    const replica = { replica_id: 'r', host: 'h', pid: 1, version: '1', uptime_ms: 1, runs: 0 };
    await call('replicas.record', async () =>
      store.replicas?.record({ ...replica, waiting: 0, digests: {} }, HOUR),
    );
    await call('replicas.remove', async () => store.replicas?.remove('r'));

    await call('guard.resetUser', () => guard.resetUser('chat', 'u'));
    await call('guard.resetSession', () => guard.resetSession('s'));
    await guard.check(message, GUARD_LIMITS);
    await call('guard.resetAll', () => guard.resetAll());
    await call('sessions.end', () => sessions.end('s'));
    const resident = aResident('Ada');
    await fillAsPerson(store, Date.now(), resident);
    await fillAsUser(store, Date.now(), resident);
    const { run } = RedisConnection.prototype;
    const spy = vi.spyOn(RedisConnection.prototype, 'run');
    spy.mockImplementation(function (this: RedisConnection, ...given) {
      if (given[0] === 'commit') erasing++;
      return run.apply(this, given);
    });
    const before = waits;
    await call('persons.erase', async () => store.persons?.erase({ person: resident.person, link_keys: [] }));
    waitsOfErasing = waits - before;
    spy.mockRestore();
  }

  async function codes(): Promise<void> {
    const { linkCodes } = store;
    const sender = {
      platform: 'chat',
      user_id: 'u',
      alias_id: null,
      name: null,
      locale: null,
      reply_to: {},
      message_id: null,
    };
    const made = (n: string) => linkCodes.create({ ...CODE, code_id: n, code_hash: n });
    await call('linkCodes.create', () => made('c1'));
    await call('linkCodes.end', () => linkCodes.end('c1', ada));
    await made('c2');
    await call('linkCodes.endSeen', () => linkCodes.endSeen('c2'));
    await made('c3');
    await call('linkCodes.claim', () => linkCodes.claim('c3', sender));
    await call('linkCodes.askAgain', () => linkCodes.askAgain('c3', sender, 'm'));
    await call('linkCodes.answer', () => linkCodes.answer('c3', sender, true));
    await call('linkCodes.confirm', () => linkCodes.confirm('c3', ada, 'newer'));
    const link = { key: 'chat:jwt:u', token: 'newer', person: ada, ttl_ms: HOUR };
    const seen = { token: CODE.token, confirmed_token: 'newer' };
    const binding = { code_id: 'c3', seen, link, alias: null, standing: new Map([[link.key, null]]) };
    await call('linkCodes.bind', () => linkCodes.bind(binding));
    const signOut = { iss: 'i', jti: 'j', iat: 1, sub: 'ada', tenant_id: null, sid: null, expires_at: 1 };
    await call('signOutMarks.add', () => store.signOutMarks.add(signOut));
    await call('signOutMarks.finish', () => store.signOutMarks.finish(signOut));
    const { linkRenewals: renewals } = store;
    const meet = () => renewals.meet(link.key, 'newer', { issued_at: 1, expires_at: Date.now() + HOUR });
    await call('linkRenewals.meet', meet);
    const taken = await call('linkRenewals.take', () => renewals.take(link.key, HOUR));
    if (taken === null) throw new Error('not taken');
    await call('linkRenewals.fail', () => renewals.fail(taken, 'r', 0));
    const sealed = { token: 'newest', sent: { sub: 'nobody' }, origin: { sub: 'nobody' } };
    const renewed = { ...sealed, life: { issued_at: 1, expires_at: Date.now() + HOUR } };
    const again = (await renewals.take(link.key, HOUR)) as RenewalClaim;
    await call('linkRenewals.renew', () => renewals.renew(again, renewed));
    const stopped = (await renewals.take(link.key, HOUR)) as RenewalClaim;
    await call('linkRenewals.stop', () => renewals.stop(stopped, 'r'));
    await store.links.put({ ...link, token: 'newer' }, 'newest');
    await meet();
    const last = (await renewals.take(link.key, HOUR)) as RenewalClaim;
    await call('linkRenewals.endLink', () => renewals.endLink(last));
    await call('linkRenewals.noteRefused', () => renewals.noteRefused('r', 1));
    await store.links.put({ ...link, token: 'newer' }, null);
    await meet();
    const ended = { key: 'chat:jwt:u', token: 'newer', kind: 'link' } as const;
    await call('signOutEnds.end', () => store.signOutEnds.end(ended));
    const session = aSession(Date.now(), { session_id: 'signs out' });
    await saveSession(store, session);
    const pending = aPendingAction(session, { person: ada });
    await commitUnderClaim(store, session.session_id, { trace: aTrace(session), pending: [pending] });
    const noted = { iss: 'i', sub: 'ada', email: 'e', exp: 1, sid: 's' };
    await call('signOutEnds.note', () => store.signOutEnds.note([noted]));
    await call('signOutEnds.noteAll', () => store.signOutEnds.noteAll());
    await call('signOutEnds.withdraw', () =>
      store.signOutEnds.withdraw({ iss: '', sub: 'ada', tenant_id: null }),
    );
  }

  async function messages(): Promise<void> {
    const { inbox } = store;
    const numbered = (n: number) =>
      anInboxMessage({ id: `i${n}`, message_id: `m${n}`, queue: `q${n}`, session_id: `q${n}`, user_id: 'u' });
    await call('inbox.enqueue', () => inbox.enqueue([0, 1, 2, 3].map(numbered)));
    const { message } = numbered(0);
    const edit = { platform: 'chat', message_id: 'm0', user_id: message?.user_id ?? '', session_id: 'q0' };
    if (!(await call('inbox.edit', () => inbox.edit({ ...edit, text: 'new' }))))
      throw new Error('nothing was edited');
    const [first] = await call('inbox.claim', () => inbox.claim('run', ['chat'], 1));
    const { claims } = await call('inbox.take', () => inbox.take(['chat'], { run: 2, send: 2 }));
    const [second, third] = claims;
    if (!first || !second || !third) throw new Error('no message');
    await call('inbox.renew', () => inbox.renew(first));
    const failed = { kind: 'failed', failure: 'agent_failed' } as const;
    await call('inbox.settle', () => inbox.settle(first, failed));
    await inbox.settle(second, failed);
    await call('inbox.notePartsSent', () => inbox.notePartsSent(third.message.id, 1));
    await call('inbox.retry', () => inbox.retry(first.message.id));
    await call('inbox.retryFailed', () => inbox.retryFailed({}));
    await call('inbox.discard', () => inbox.discard(first.message.id));
    const reply = { message: null, session_id: null, reply: 'text' };
    await inbox.enqueue([anInboxMessage({ ...reply, queue: 'texts', message_id: null })]);
    await call('inbox.expire', () => inbox.expire('chat', Date.now() + HOUR, 'reply_expired'));
    const [arrival] = [numbered(9)].map(({ message: written, ...rest }) => ({
      message: { ...rest, session_id: 'q9', message: written as never },
      guarded: {
        user: guardUser({ platform: 'chat', user_id: 'u', person: null, address: null }),
        ...{ session_id: 'q9', text: 'h', message_id: 'm9', sent_at: null },
      },
      notice: anInboxMessage({ ...reply, message_id: null }),
    }));
    await call('inbox.screen', () => inbox.screen([arrival as never], GUARD_LIMITS));
    await call('inbox.completeSignIn', () =>
      inbox.completeSignIn(third, { reply: 'text', begins_at: null, private_run: null }),
    );
    const collects = { wait_ms: 0, max_ms: 0 };
    const own = { collects, platform: 'telex' };
    await inbox.enqueue(['q10', 'q11'].map((session_id) => anInboxMessage({ ...own, session_id })));
    const [collecting] = await inbox.claim('run', ['telex'], 1);
    if (!collecting) throw new Error('no message');
    await call('inbox.collect', () => inbox.collect(collecting));
    await call('inbox.endCollecting', () => inbox.endCollecting('telex', 'u1'));
    await call('inbox.reap', () => inbox.reap());
  }

  async function tokens(): Promise<StoredToken[]> {
    const found: StoredToken[] = [];
    for await (const batch of store.storedTokens('no prefix')) found.push(...batch);
    return found;
  }

  it('is proved for each method of the store', () => {
    const ports = [...STORE_PORTS, 'persons', 'replicas'] as const;
    const methods = ports.flatMap((port) =>
      Object.entries(store[port] ?? {}).flatMap(([name, value]) =>
        typeof value === 'function' ? [`${port}.${name}`] : [],
      ),
    );
    const known = new Set([...called, ...READS]);
    expect(methods.filter((method) => !known.has(method))).toEqual([]);
  });

  it.skipIf(isAlways)('is waited for only by the journal of actions and by sign-outs', () => {
    expect([...waited].sort()).toEqual([...JOURNAL].sort());
  });

  it.runIf(isAlways)('is waited for by each method that writes, except those that are named', () => {
    expect([...called].filter((method) => !waited.has(method)).sort()).toEqual([...LAZY, ...CLAIMS].sort());
    expect([...waited]).toEqual(expect.arrayContaining([...JOURNAL, 'actions.finish', 'audit.note']));
    expect(waitsOfErasing).toBe(erasing);
    expect(erasing).toBeGreaterThan(10);
  });

  it.runIf(isAlways)(
    'is waited for by an answer that tells what another call is still waiting for',
    async () => {
      const done = Promise.withResolvers<void>();
      const message = anInboxMessage({ id: 'twice', message_id: 'twice' });
      vi.mocked(RedisConnection.prototype.untilDurable).mockImplementation(() => done.promise);
      const outcomes: unknown[] = [];
      const enqueue = async () => void outcomes.push(await store.inbox.enqueue([message]));
      const first = enqueue();
      await expect.poll(() => server.client.exists('agentd:{store}:inbox_message:twice')).toBe(1);
      const second = enqueue();
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(outcomes).toEqual([]);
      done.resolve();
      await Promise.all([first, second]);
      expect(outcomes).toEqual([['kept'], ['repeated']]);
    },
  );
});
