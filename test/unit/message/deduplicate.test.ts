import { beforeEach, describe, expect, it } from 'vitest';
import { deduplicate } from '../../../src/daemon/message/deduplicate.ts';
import { toIdempotencyKey, turnKey } from '../../../src/daemon/message/keys.ts';
import type { KeyClaim } from '../../../src/daemon/store/claims/claims.ts';
import { CLAIM_MS } from '../../../src/daemon/store/claims/claims.ts';
import {
  aMessage,
  aTurnOf,
  NO_TOKEN,
  ON_PLATFORM,
  runStep,
  type StepWorld,
  signedIn,
  stepWorld,
} from '../../support/step.ts';

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld();
});

const withKey = (message_id: string | undefined, text = 'Hello', identified = NO_TOKEN) =>
  aTurnOf(world, {
    ...identified,
    message: aMessage({ text, ...(message_id === undefined ? {} : { message_id }) }),
  });
const answer = (claim: KeyClaim, reader: null | ReturnType<typeof String> = null) =>
  world.store.idempotency.finish(claim, { session_id: 's', response: 'Hi.', reader: reader as null }, 60_000);

describe('deduplicate', () => {
  it('claims the key of a message, and releases the claim if the turn fails', async () => {
    const first = await runStep(world, deduplicate, withKey('k'));
    expect(first.turn.key).toMatchObject({ owner: expect.any(String) });
    expect(first.ended).toBeUndefined();
    await expect(runStep(world, deduplicate, withKey('k'))).rejects.toMatchObject({
      code: 'duplicate_in_progress',
      retryAfter: 1,
    });
    await first.turn.release(true);
    expect((await runStep(world, deduplicate, withKey('k'))).turn.key).not.toBeNull();
  });

  it('ends the turn of a repeated message with the first answer, and logs it', async () => {
    const { turn } = await runStep(world, deduplicate, withKey('k'));
    await answer(turn.key as KeyClaim);
    await turn.release(false);
    const { ended, line } = await runStep(world, deduplicate, withKey('k'));
    expect(ended).toMatchObject({ session_id: 's', response: 'Hi.' });
    expect(line.reason).toBe('replayed');
    expect(world.lines).toMatchObject([
      { msg: '[LoopGuard] DUPLICATE platform=webchat user=visitor message_id=k' },
    ]);
  });

  it('refuses a key with a different body, even while the first request is in progress', async () => {
    await runStep(world, deduplicate, withKey('k'));
    await expect(runStep(world, deduplicate, withKey('k', 'Bye'))).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
  });

  it.each([{ user_id: 'another' }, { thread_id: 't' }])(
    'refuses a key of a person with a different body: %j',
    async (others) => {
      await runStep(world, deduplicate, withKey('k', 'Hello', signedIn('ada')));
      const again = withKey('k', 'Hello', signedIn('ada'));
      Object.assign(again.message, others);
      await expect(runStep(world, deduplicate, again)).rejects.toMatchObject({
        code: 'idempotency_key_reused',
      });
    },
  );

  it('refuses a key with a different body even after the first request has failed', async () => {
    const { turn } = await runStep(world, deduplicate, withKey('k'));
    await turn.release(true);
    await expect(runStep(world, deduplicate, withKey('k', 'Bye'))).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect((await runStep(world, deduplicate, withKey('k'))).turn.key).not.toBeNull();
  });

  it('treats the same key from different senders, or for other channels, as different keys', async () => {
    const turn = withKey('k');
    const turns = [
      turn,
      withKey('k', 'Hello', signedIn('ada')),
      withKey('k', 'Hello', signedIn('bob')),
      { ...withKey('k'), address: '192.0.2.2' },
      { ...turn, channel: { ...turn.channel, namespace: 'kiosk' } },
    ];
    const keys = new Set<string | undefined>();
    for (const one of turns) keys.add((await runStep(world, deduplicate, one)).turn.key?.key);
    expect(keys.size).toBe(turns.length);
  });

  it('does not return the answer for one person to anybody else', async () => {
    const { turn } = await runStep(world, deduplicate, withKey('k'));
    await answer(turn.key as KeyClaim, '["","","ada"]');
    await expect(runStep(world, deduplicate, withKey('k'))).rejects.toMatchObject({
      code: 'session_forbidden',
    });
    const ofAda = await runStep(world, deduplicate, withKey('k', 'Hello', signedIn('ada')));
    await answer(ofAda.turn.key as KeyClaim, '["","","ada"]');
    const again = await runStep(world, deduplicate, withKey('k', 'Hello', signedIn('ada')));
    expect(again.ended).toMatchObject({ response: 'Hi.' });
  });

  it('keeps the turns of long keys apart in the journal, and those of one key together', () => {
    const key = (name: string) => {
      const long = toIdempotencyKey(aTurnOf(world, { ...NO_TOKEN, message: aMessage({ message_id: name }) }));
      return turnKey({ turn_id: crypto.randomUUID(), key: { key: `${long}`, fingerprint: '', owner: '' } });
    };
    const names = Array.from({ length: 2000 }, (_, n) => `${'k'.repeat(200)}${n}`);
    expect(new Set(names.map(key)).size).toBe(2000);
    expect(key('k1')).toBe(key('k1'));
  });

  it('renews its claim during the turn, so that no other daemon runs the same message', async () => {
    const { turn } = await runStep(world, deduplicate, withKey('k'));
    const claim = turn.key as KeyClaim;
    for (let second = 0; second < (3 * CLAIM_MS) / 1000; second++) {
      world.clock.moveTo(world.clock.now() + 1000);
      await new Promise(setImmediate);
    }
    const { outcome } = await world.peer.idempotency.look(claim.key, claim.fingerprint);
    expect(outcome).toBe('running');
    await turn.release(false);
    expect(world.services.claims.size).toBe(0);
  });

  it.each([
    ['without a key', () => withKey(undefined)],
    ['of a platform', () => Object.assign(withKey('k'), ON_PLATFORM)],
  ])('does not look for earlier answers to a message %s', async (_case, make) => {
    for (let time = 0; time < 2; time++) {
      const { turn, line } = await runStep(world, deduplicate, make());
      expect([turn.key, line.reason]).toEqual([null, 'no_key']);
    }
  });
});

describe('deduplicate, for the run of a stream', () => {
  it('claims the key with which the stream was stored, regardless of who opened the stream', async () => {
    const opened = { ...withKey('k', 'Hello', signedIn('ada')), idempotency_key: 'of-the-stream' };
    const { turn } = await runStep(world, deduplicate, opened);
    expect(turn.key?.key).toBe('of-the-stream');
  });

  it('claims nothing if the stream has no key', async () => {
    const { turn, line } = await runStep(world, deduplicate, { ...withKey('k'), idempotency_key: null });
    expect([turn.key, line.reason]).toEqual([null, 'no_key']);
  });
});
