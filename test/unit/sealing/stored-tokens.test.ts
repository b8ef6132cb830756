import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { recordingRecord } from '../../../src/daemon/agent/recording.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { createSeal, type Seal } from '../../../src/daemon/identity/seal.ts';
import { codeRecord } from '../../../src/daemon/linking/link-ids.ts';
import { tokenRecord } from '../../../src/daemon/message/create-stream.ts';
import { type SealingServices, startSealing } from '../../../src/daemon/sealing/stored-tokens.ts';
import { storedToken } from '../../../src/daemon/session/jwt-context.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { closeActionText, openActionText } from '../../../src/daemon/tools/journal/action-record.ts';
import { ada, anAction, aRecording, aSession, aStream } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const HOUR = 3_600_000;
const KEY = 'chat:jwt:u1';
const [OLD, NEW] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];
const old = createSeal(new Secret(OLD));
const next = createSeal(new Secret(NEW));

/** Keys that a test changes while sealing is on. */
class Keys {
  #keys = new Secret(OLD);
  set(...keys: string[]) {
    this.#keys = new Secret(keys.join());
  }
  current() {
    return this.#keys;
  }
}

describe('sealing', () => {
  let clock: VirtualClock;
  let store: Store;
  let keys: Keys;
  let seal: Seal;
  let logged: [level: string, fields: Record<string, unknown>][];

  beforeEach(() => {
    clock = new VirtualClock(1_000_000);
    store = openMemoryStore(new MemoryState(), { clock });
    keys = new Keys();
    seal = createSeal(keys);
    logged = [];
  });

  function start(changes: Partial<SealingServices> = {}) {
    const log = {
      info: (fields: Record<string, unknown>) => void logged.push(['info', fields]),
      warn: (fields: Record<string, unknown>) => void logged.push(['warn', fields]),
    } as never;
    const stop = startSealing({ store, seal, clock, log, agrees: async () => true, ...changes });
    onTestFinished(stop);
    return stop;
  }
  /** Advances the clock, and waits until the work that is due has finished. */
  async function pass(ms: number) {
    clock.moveTo(clock.now() + ms);
    await settled();
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const byKey = async () =>
    Object.fromEntries([...(await store.countSeals())].map(([mark, { texts }]) => [mark, texts]));
  const [ofOld, ofNew] = [old.marks[0] as string, next.marks[0] as string];

  async function storeEverything(sealed: Seal) {
    await store.links.put({ key: KEY, token: sealed.close('of-the-link', KEY), person: ada, ttl_ms: HOUR });
    const session = aSession(clock.now(), { credential_owner: { user_id: 'u1', person: ada } });
    const token = sealed.close('of-the-session', `session:${JSON.stringify([session.session_id, 'u1'])}`);
    const jwt_context = {
      ...{ has_jwt: true as const, user_id: 'ada', email: 'a@example.com' },
      ...{ token, token_exp: '2030-01-01T00:00:00.000Z' },
    };
    await saveSession(store, { ...session, metadata: { jwt_context } });
    const action = anAction();
    const { action_id } = action;
    const args = closeActionText(sealed, action_id, 'args', '{"id":7}');
    const summary = closeActionText(sealed, action_id, 'summary', 'Cancel order 7');
    await store.actions.start(null, { ...action, args, summary });
    return { session_id: session.session_id, action_id };
  }

  it('reseals everything with a new key after the key has been put first in the list', async () => {
    const { session_id, action_id } = await storeEverything(old);
    start();
    await settled();
    expect(await byKey()).toEqual({ [ofOld]: 4 });

    keys.set(NEW, OLD);
    await pass(5000);
    expect(await byKey()).toEqual({ [ofNew]: 4 });
    expect(logged).toEqual([['info', { count: 4, key: expect.any(String) }]]);
    const session = await store.sessions.find(session_id);
    const action = await store.actions.find(action_id);
    expect(next.open((await store.links.get(KEY))?.token ?? '', KEY)).toBe('of-the-link');
    expect(session && storedToken(session, next)).toBe('of-the-session');
    expect(action && openActionText(next, action, 'args')).toBe('{"id":7}');
    expect(action && openActionText(next, action, 'summary')).toBe('Cancel order 7');
  });

  it('seals what was stored without a key, each text for its record, and then rests', async () => {
    const { session_id, action_id } = await storeEverything(createSeal(undefined));
    await store.actions.finish(action_id, 1, { state: 'done', status: 200, answer: '{"ok":true}' });
    const stream = aStream({ token: 'of-the-stream' });
    await store.streams.create(stream);
    const code = { code_id: 'c1', code_hash: 'h', person: ada, ttl_ms: HOUR };
    await store.linkCodes.create({ ...code, token: 'of-the-code' });
    let passes = 0;
    const storedTokens = (unlike: string) => {
      passes++;
      return store.storedTokens(unlike);
    };
    start({ store: { ...store, storedTokens } });
    await settled();
    expect(await byKey()).toEqual({ [ofOld]: 7 });
    const codesToken = (await store.linkCodes.find('c1'))?.token ?? '';
    expect(old.open(codesToken, codeRecord('c1'))).toBe('of-the-code');
    const session = await store.sessions.find(session_id);
    const action = await store.actions.find(action_id);
    const stored = (await store.streams.find(stream.stream_id))?.token ?? '';
    expect(old.open((await store.links.get(KEY))?.token ?? '', KEY)).toBe('of-the-link');
    expect(session && storedToken(session, old)).toBe('of-the-session');
    expect(old.open(stored, tokenRecord(stream.stream_id))).toBe('of-the-stream');
    expect(old.open(stored, KEY)).toBeNull();
    expect(action && openActionText(old, action, 'answer')).toBe('{"ok":true}');
    expect(logged).toEqual([['info', { count: 7, key: expect.any(String) }]]);
    for (let n = 0; n < 50; n++) await pass(5000);
    expect(passes).toBe(2);
  });

  it('stops between two batches, even if there is nothing to seal', async () => {
    const batches = async function* () {
      for (;;) yield await new Promise<[]>((resolve) => setImmediate(() => resolve([])));
    };
    await start({ store: { ...store, storedTokens: batches } })();
  });

  it('reseals recordings, and counts them, so that a key is called unused only when nothing needs it', async () => {
    const closed = (key: Seal, turn_id: string) => key.close('{"said":"hello"}', recordingRecord(turn_id));
    for (const turn_id of ['t1', 't2'])
      await store.recordings.keep(aRecording({ turn_id, content: closed(old, turn_id) }));
    expect(await byKey()).toEqual({ [ofOld]: 2 });
    const before = await store.recordings.find('t1');
    keys.set(NEW, OLD);
    start();
    await settled();
    expect(await byKey()).toEqual({ [ofNew]: 2 });
    const after = await store.recordings.find('t1');
    expect(after).toEqual({ ...before, content: expect.any(String) });
    expect(next.open(after?.content ?? '', recordingRecord('t1'))).toBe('{"said":"hello"}');
  });

  it('runs again later, because a turn in progress may have stored a token that the previous key sealed', async () => {
    keys.set(NEW, OLD);
    await storeEverything(old);
    start();
    await settled();
    expect(await byKey()).toEqual({ [ofNew]: 4 });
    await store.links.put({ key: 'late', token: old.close('x', 'late'), person: ada, ttl_ms: 9 * HOUR });
    for (let n = 0; n < 12; n++) await pass(5000);
    expect((await store.links.get('late'))?.token.startsWith(ofNew)).toBe(true);
    // A pass that finds nothing is repeated within an hour: a command may have read the keys before they changed.
    for (let n = 0; n < 13; n++) await pass(5000);
    const later = { key: 'later', token: old.close('x', 'later'), person: ada, ttl_ms: 9 * HOUR };
    await store.links.put(later);
    for (let n = 0; n < 12; n++) await pass(5000);
    expect((await store.links.get('later'))?.token.startsWith(ofOld)).toBe(true);
    await pass(HOUR);
    expect((await store.links.get('later'))?.token.startsWith(ofNew)).toBe(true);
  });

  it('can be continued after it failed in the middle, and loses no token', async () => {
    keys.set(NEW, OLD);
    await storeEverything(old);
    let left = 2;
    const dying: SealingServices['store'] = {
      recordings: store.recordings,
      storedTokens: (unlike) => store.storedTokens(unlike),
      replaceToken: async (text, value) => {
        if (left-- <= 0) throw new StoreUnavailable(new Error('killed'));
        return store.replaceToken(text, value);
      },
    };
    const dies = start({ store: dying });
    await settled();
    for (let n = 0; n < 11; n++) await pass(5000);
    expect(await byKey()).toEqual({ [ofNew]: 2, [ofOld]: 2 });
    expect(logged).toMatchObject([['warn', { err: expect.any(StoreUnavailable) }]]);
    left = 1;
    await pass(5000);
    await dies();
    expect(await byKey()).toEqual({ [ofNew]: 3, [ofOld]: 1 });
    expect(seal.open((await store.links.get(KEY))?.token ?? '', KEY)).toBe('of-the-link');
    start();
    await settled();
    expect(await byKey()).toEqual({ [ofNew]: 4 });
  });

  it('changes nothing while another daemon has the keys in a different order', async () => {
    keys.set(NEW, OLD);
    await storeEverything(old);
    let agree = false;
    start({ agrees: async () => agree });
    await pass(5000);
    expect(await byKey()).toEqual({ [ofOld]: 4 });
    agree = true;
    await pass(5000);
    expect(await byKey()).toEqual({ [ofNew]: 4 });
  });

  it('does not replace a token that was stored in the meantime, and ignores tokens that no key can open', async () => {
    keys.set(NEW, OLD);
    const lost = createSeal(new Secret(Buffer.alloc(32, 3).toString('base64'))).close('lost', 'lost');
    await store.links.put({ key: 'lost', token: lost, person: ada, ttl_ms: HOUR });
    await store.links.put({ key: KEY, token: old.close('x', KEY), person: ada, ttl_ms: HOUR });
    const late: SealingServices['store'] = {
      recordings: store.recordings,
      storedTokens: (unlike) => store.storedTokens(unlike),
      async replaceToken(text, value) {
        const newer = { key: KEY, token: next.close('newer', KEY), person: ada, ttl_ms: HOUR };
        await store.links.put(newer, new Map([[KEY, text.token]]));
        return store.replaceToken(text, value);
      },
    };
    start({ store: late });
    await settled();
    expect(next.open((await store.links.get(KEY))?.token ?? '', KEY)).toBe('newer');
    expect((await store.links.get('lost'))?.token).toBe(lost);
    expect(logged).toEqual([]);
  });
});
