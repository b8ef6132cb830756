import { beforeEach, describe, expect, it } from 'vitest';
import { idIn, shownIds, wholeId, wholeSessionId } from '../../../src/cli/names/whole-id.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { anInboxMessage, aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

describe('an id on the command line', () => {
  const clock = new VirtualClock(Date.now());
  let store: ReturnType<typeof openMemoryStore>;

  beforeEach(async () => {
    store = openMemoryStore(new MemoryState(), { clock });
    for (const session_id of ['web_ada_1', 'web_ada_2', 'web_a', 'website:own-talk-of-ada'])
      await saveSession(store, aSession(clock.now(), { session_id }));
  });
  const whole = (given: string) => wholeSessionId(store, given, {});

  it('is the id that was written, else the only one that begins with it', async () => {
    expect(await whole('web_ada_1')).toBe('web_ada_1');
    expect(await whole('web_a')).toBe('web_a');
    expect(await whole('webs')).toBe('website:own-talk-of-ada');
    expect(await whole('x')).toBe('x');
  });

  it('is refused with the candidates if several begin with it', async () => {
    const refused = whole('web_ada').catch((error: unknown) => error);
    expect(await refused).toMatchObject({
      ...{ exitCode: 1, message: "several ids begin with 'web_ada'" },
      advice: expect.stringMatching(/:(\n {2}web_ada_[12]){2}$/),
    });
  });

  it('may have the title of a channel before its colon, unless it is an id itself', async () => {
    await store.inbox.enqueue([anInboxMessage({ platform: 'teamchat', message_id: 'C1:17.5' })]);
    const isKnown = async (id: string) => (await store.inbox.search(id)).length > 0;
    const wanted = { kinds: ['message'] as const, options: {}, isKnown };
    expect(await wholeId(store, { ...wanted, given: 'slack:C1:17.5' })).toBe('teamchat:C1:17.5');
    expect(await wholeId(store, { ...wanted, given: 'slack:C1' })).toBe('teamchat:C1:17.5');
    expect(await whole('website:own-talk-of-ada')).toBe('website:own-talk-of-ada');
  });

  it('is shown by a unique beginning on a terminal, beyond the name of its channel, and in full elsewhere', async () => {
    const shown = (json: boolean, width: number) =>
      shownIds(store, { json, width }, 'session', ['website:own-talk-of-ada']).then((ids) =>
        ids.get('website:own-talk-of-ada'),
      );
    expect(await shown(false, 80)).toBe('website:own-talk-o');
    expect(await shown(true, 80)).toBeUndefined();
    expect(await shown(false, Number.POSITIVE_INFINITY)).toBeUndefined();
  });

  it('of a list is found in the same way', () => {
    expect(idIn(['abc', 'abd', 'ab'], 'ab')).toBe('ab');
    expect(idIn(['abc', 'abd'], 'abd')).toBe('abd');
    expect(idIn(['abc', 'xyz'], 'x')).toBe('xyz');
    expect(idIn(['abc'], 'z')).toBeNull();
    expect(() => idIn(['abc', 'abd'], 'ab')).toThrow("several ids begin with 'ab'");
  });
});
