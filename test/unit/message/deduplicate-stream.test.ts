import { beforeEach, describe, expect, it } from 'vitest';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { createStream } from '../../../src/daemon/message/create-stream.ts';
import { deduplicate, deduplicateStream } from '../../../src/daemon/message/deduplicate.ts';
import type { KeyClaim } from '../../../src/daemon/store/claims/claims.ts';
import {
  aMessage,
  aTurnOf,
  NO_TOKEN,
  runStep,
  type StepWorld,
  signedIn,
  stepWorld,
} from '../../support/step.ts';

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld({ sealKey: Buffer.alloc(32, 1).toString('base64') });
});

const starting = (members: Parameters<typeof aMessage>[0] = {}, identified = NO_TOKEN) =>
  aTurnOf(world, {
    ...identified,
    message: aMessage(members),
    ttl_ms: 60_000,
    cookie_person: null,
    counted_in: null as string | null,
  });
async function started(turn: ReturnType<typeof starting>) {
  const { turn: numbered } = await runStep(world, deduplicateStream, turn);
  return (await runStep(world, createStream, numbered)).turn.stream;
}

describe('deduplicate, for a stream', () => {
  it('returns the first stream of the key for a repeated message', async () => {
    const first = await started(starting({ message_id: 'k' }));
    const { ended } = await runStep(world, deduplicateStream, starting({ message_id: 'k' }));
    expect(ended).toEqual(first);
  });

  it('returns a new stream if the message was already answered over another channel', async () => {
    const { turn } = await runStep(world, deduplicate, starting({ message_id: 'k' }));
    await world.store.idempotency.finish(turn.key as KeyClaim, { session_id: 's', response: 'Hi.' }, 60_000);
    const { ended, line } = await runStep(world, deduplicateStream, starting({ message_id: 'k' }));
    expect(ended?.stream_id).toMatch(/^webchat_/);
    expect(line.reason).toBe('replayed');
  });

  it('refuses a message that is being answered over another channel, and a key with a different body', async () => {
    await runStep(world, deduplicate, starting({ message_id: 'k' }));
    const again = runStep(world, deduplicateStream, starting({ message_id: 'k' }));
    await expect(again).rejects.toMatchObject({ code: 'duplicate_in_progress' });
    const other = runStep(world, deduplicateStream, starting({ message_id: 'k', text: 'Bye' }));
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    await started(starting({ message_id: 'l' }));
    const otherStream = runStep(world, deduplicateStream, starting({ message_id: 'l', text: 'Bye' }));
    await expect(otherStream).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    const elsewhere = runStep(world, deduplicate, starting({ message_id: 'l', text: 'Bye' }));
    await expect(elsewhere).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('knows that the loop guard has counted an earlier request with the key', async () => {
    const { turn } = await runStep(world, deduplicate, starting({ message_id: 'k' }));
    await turn.release(true);
    expect((await runStep(world, deduplicateStream, starting({ message_id: 'k' }))).turn).toMatchObject({
      counted_before: false,
    });
    const counted = Object.assign(starting({ message_id: 'k' }), { counted_in: 's' });
    await (await runStep(world, deduplicate, counted)).turn.release(true);
    expect((await runStep(world, deduplicateStream, starting({ message_id: 'k' }))).turn).toMatchObject({
      counted_before: true,
    });
  });

  it('does not claim the key, because the run of the stream claims it', async () => {
    const { turn } = await runStep(world, deduplicateStream, starting({ message_id: 'k' }));
    expect(turn.idempotency_key).toEqual(expect.any(String));
    expect((await runStep(world, deduplicate, starting({ message_id: 'k' }))).turn.key).not.toBeNull();
  });
});

describe('create-stream', () => {
  it('stores the message without its token, and the token sealed in a separate field', async () => {
    const jwt_token = 'a.secret.token';
    const { stream_id } = await started(
      starting({ metadata: { jwt_token, user_name: 'Ada' } }, signedIn('ada')),
    );
    const stream = await world.store.streams.find(stream_id);
    expect(stream).toMatchObject({
      state: 'waiting',
      owner: '["","","ada"]',
      start: { token_given: true, message: { metadata: { user_name: 'Ada' } } },
    });
    expect(JSON.stringify(stream)).not.toContain(jwt_token);
    expect(stream?.token).toEqual(expect.any(String));
  });

  it('stores that the sender has signed out', async () => {
    const { stream_id } = await started(starting({ metadata: { jwt_token: null } }));
    const stream = await world.store.streams.find(stream_id);
    expect(stream).toMatchObject({
      token: null,
      start: { token_given: false, message: { metadata: { jwt_token: null } } },
    });
  });

  it('stores what its readers are judged by: the refused token, the person of the cookie, and the time', async () => {
    const refused = { credential: { kind: 'invalid', reason: 'Token Expired' } } as const;
    const cookie_person = personKey({ sub: 'ada' });
    const turn = starting({ metadata: { jwt_token: 'a.b.c' } }, refused);
    const { stream_id } = await started(Object.assign(turn, { cookie_person }));
    const { start, owner } = (await world.store.streams.find(stream_id)) ?? {};
    expect(owner).toBeNull();
    expect(start).toMatchObject({
      ...{ token_given: true, token_refused: 'Token Expired', cookie_person, accepted_at: turn.started_at },
    });
  });

  it('gives two simultaneous messages with the same key the same stream', async () => {
    const both = await Promise.all([1, 2].map(() => started(starting({ message_id: 'k' }))));
    expect(both[0]).toEqual(both[1]);
  });
});
