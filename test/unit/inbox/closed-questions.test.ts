import { beforeEach, describe, expect, it } from 'vitest';
import { DeliveryFailed } from '../../../src/daemon/inbox/outcome.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { link } from '../../../src/daemon/linking/links.ts';
import { REAP_MS } from '../../../src/daemon/store/claims/claims.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';

/* agentd-agent(7), "Confirmation": what a message with buttons says after the press. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Valid at the time of the test. */
const DAYS = 2 * 24 * 3600;

let world: ConfirmationWorld;
beforeEach(async () => {
  world = await ConfirmationWorld.open();
  atFiveAfterTwo();
});

/** The next 14:05 UTC. */
function atFiveAfterTwo(): void {
  const today = Math.floor(world.clock.now() / (24 * HOUR)) * 24 * HOUR;
  world.clock.moveTo(today + 38 * HOUR + 5 * MINUTE);
}

/** A person asks for actions, and the daemon asks for a confirmation. @returns the id of the question */
async function ask(text = 'cancel 1004', members: object = {}): Promise<string> {
  await world.write(text, 'ada', { metadata: { user_name: 'Ada Lovelace' }, ...members });
  return world.asked;
}
const outcomes = () => world.closed.map(({ outcome }) => outcome);
const later = async (ms: number) => {
  world.clock.moveTo(world.clock.now() + ms);
  await world.settle();
};
const failing = (error: Error) => {
  world.close = () => {
    throw error;
  };
};

describe('a question with buttons', () => {
  it('loses them when it is confirmed, and says who confirmed it, when, and that it was done', async () => {
    const id = await ask();
    expect(outcomes()).toEqual([]);
    await world.press({ id, approve: true });
    expect(world.closed).toEqual([
      {
        sent_id: 'sent-1',
        reply_to: { room: 'room' },
        confirmation: world.sent[0]?.confirmation,
        outcome: 'Confirmed by Ada Lovelace at 14:05 UTC. This was done.',
        time: { at: expect.closeTo(world.clock.now(), -2), begins_at: 29, words: '14:05 UTC' },
      },
    ]);
    // Nothing is left to do.
    await later(HOUR);
    expect([world.closed.length, await world.store.inbox.counts()]).toEqual([1, []]);
  });

  it('loses them after an answer in words', async () => {
    await ask();
    await world.write('no');
    expect(outcomes()).toEqual(['Declined by Ada Lovelace at 14:05 UTC. Nothing was done.']);
  });

  it('says "you" in a private chat, and nobody’s name if a group does not know it', async () => {
    await world.press({ id: await ask('cancel 1', { shared: false }), approve: true });
    await world.press({ id: await ask('cancel 2', { metadata: {} }), approve: false });
    expect(outcomes()).toEqual([
      'Confirmed by you at 14:05 UTC. This was done.',
      'Declined by the person who was asked at 14:05 UTC. Nothing was done.',
    ]);
  });

  it('says the name that came with the press, if the message had none', async () => {
    const named = { metadata: { user_name: 'Ada Lovelace' } };
    await world.press({ id: await ask('cancel 1', { metadata: {} }), approve: false }, 'ada', named);
    expect(outcomes()).toEqual(['Declined by Ada Lovelace at 14:05 UTC. Nothing was done.']);
  });

  it('shows nothing hidden in the name of the person', async () => {
    await world.press({
      id: await ask('cancel 1', { metadata: { user_name: 'A\u202eda' } }),
      approve: false,
    });
    expect(outcomes()).toEqual(['Declined by A\\u202eda at 14:05 UTC. Nothing was done.']);
  });

  it('says that nothing was done if the API refused the call, or that nobody knows', async () => {
    world.answer = async () => ({ outcome: 'answered', status: 404, result: {} });
    await world.press({ id: await ask('cancel 1'), approve: true });
    world.answer = async () => ({
      outcome: 'failed',
      reached: true,
      reason: 'timeout',
      message: 'No answer.',
    });
    await world.press({ id: await ask('cancel 2'), approve: true });
    expect(outcomes()).toEqual([
      'Confirmed by Ada Lovelace at 14:05 UTC. This couldn’t be done.',
      'Confirmed by Ada Lovelace at 14:05 UTC. It isn’t known whether this was done.',
    ]);
  });

  it('loses them when it expires, although nobody writes or presses', async () => {
    await ask();
    await later(15 * MINUTE - 10);
    expect(outcomes()).toEqual([]);
    await later(REAP_MS);
    expect(outcomes()).toEqual(['That question ended at 14:20. Nothing was done.']);
    expect(world.closed[0]?.time).toMatchObject({ begins_at: 23, words: '14:20' });
  });

  it('loses them when another question replaces it, and when the person signs in', async () => {
    await ask('cancel 1');
    await ask('cancel 2');
    expect(outcomes()).toEqual(['This was withdrawn, and not done.']);
    await link(world.services, TELEX, 'ada', await token({ sub: 'ada', ttl: DAYS }));
    await world.settle();
    expect(world.closed.map(({ sent_id }) => sent_id)).toEqual(['sent-1', 'sent-2']);
  });

  it('loses them in each message that repeated it', async () => {
    await ask();
    await world.write('why?', 'ada', { metadata: { user_name: 'Ada Lovelace' } });
    expect(outcomes()).toEqual([]);
    await world.write('yes');
    expect(world.closed.map(({ sent_id }) => sent_id)).toEqual(['sent-1', 'sent-2']);
    expect(new Set(outcomes())).toEqual(new Set(['Confirmed by Ada Lovelace at 14:05 UTC. This was done.']));
  });

  it('says what became of each of several actions', async () => {
    await ask('cancel 1 and 2 and 3');
    await world.write('only 1 and 3');
    expect(outcomes()).toEqual([
      'Confirmed by Ada Lovelace at 14:05 UTC. 1, 3: This was done. 2: This was declined, and not done.',
    ]);
  });

  it('says that its time is in UTC if the token names a zone that nobody knows', async () => {
    const claims = { timezone: 'Mars/Olympus' };
    await link(world.services, TELEX, 'ada', await token({ sub: 'ada', claims, ttl: DAYS }));
    await world.press({ id: await ask('cancel 1', { shared: false }), approve: true });
    expect(outcomes()).toEqual(['Confirmed by you at 14:05 UTC. This was done.']);
  });

  it('is in the language and the time zone of the person', async () => {
    const german = {
      decided_yes: 'Bestätigt von {who}, {time}.',
      became_done: 'Erledigt.',
      decided_by_you: 'dir',
    };
    world = await ConfirmationWorld.open({ texts: new Texts(new Map([['de', german]])) });
    atFiveAfterTwo();
    const claims = { locale: 'de-AT', timezone: 'Europe/Vienna' };
    await link(world.services, TELEX, 'ada', await token({ sub: 'ada', claims, ttl: DAYS }));
    await world.press({ id: await ask('cancel 1', { shared: false }), approve: true });
    expect(outcomes()).toEqual([expect.stringMatching(/^Bestätigt von dir, 1[56]:05\. Erledigt\.$/)]);
  });
});

describe('a platform that does not take the change', () => {
  it('is asked again, and the answer arrives in the meantime', async () => {
    const id = await ask();
    failing(new DeliveryFailed('busy', { final: false, retry_after_seconds: 30 }));
    await world.press({ id, approve: true });
    expect([world.sent.length, world.closed]).toEqual([2, []]);
    world.close = () => {};
    await later(20_000);
    expect(outcomes()).toEqual([]);
    await later(MINUTE);
    // The time is that of the decision.
    expect(outcomes()).toEqual(['Confirmed by Ada Lovelace at 14:05 UTC. This was done.']);
  });

  it('is not asked again after a final refusal, and nothing counts as failed', async () => {
    const id = await ask();
    failing(new DeliveryFailed('message_not_found', { final: true }));
    await world.press({ id, approve: true });
    world.close = () => {};
    await later(HOUR);
    expect([world.sent.length, outcomes()]).toEqual([2, []]);
    expect(await world.store.inbox.counts()).toEqual([]);
    expect(await world.store.inbox.list({ states: ['failed'], limit: 9 })).toEqual([]);
  });
});

describe('another daemon with the same store', () => {
  it('takes the buttons away if the first one has died', async () => {
    const id = await ask();
    // The first daemon stores the answer, and dies before it takes the buttons away.
    world.close = () => new Promise(() => {});
    await world.post('', 'ada', { confirm: { id, approve: true } });
    await world.worker.start();
    await expect.poll(() => world.calls.length).toBe(1);
    world.close = () => {};
    const other = new InboxWorker(world.services);
    world.addTo(other);
    world.clock.moveTo(world.clock.now() + 10 * MINUTE);
    await other.start();
    await other.idle();
    other.pause();
    expect(outcomes()).toContain('Confirmed by Ada Lovelace at 14:05 UTC. This was done.');
  });
});

describe('a message with a question that is deleted', () => {
  it('is not changed', async () => {
    const id = await ask();
    const [asked] = await world.store.inbox.list({ states: ['done'], limit: 1 });
    await world.store.inbox.discard(asked?.id ?? '');
    await world.press({ id, approve: true });
    expect([world.calls.length, outcomes()]).toEqual([1, []]);
  });
});
