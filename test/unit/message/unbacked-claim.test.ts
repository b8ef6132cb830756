import { beforeEach, describe, expect, it } from 'vitest';
import { createBuiltin } from '../../../src/daemon/agent/builtin.ts';
import { link } from '../../../src/daemon/linking/links.ts';
import { Metrics } from '../../../src/daemon/metrics/metrics.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import type { Sent, Tool } from '../../../src/daemon/tools/tool.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';
import { sourceOf } from '../../support/tools.ts';

/* A reply that says that something was changed, although nothing was: agentd-agent(7), "Receipts". */

const CLAIM = 'I have cancelled your order.';
const NOTE = '\n\nThis message changed nothing.';

let world: ConfirmationWorld;
let ada: string;

beforeEach(async () => {
  world = await openWorld();
  ada = await token({ sub: 'ada' });
});

const openWorld = (tool: Partial<Tool> = {}) =>
  ConfirmationWorld.open({ tool: { confirm: 'never', source: sourceOf({}), ...tool } });
/** The agent answers `You said: `, with the text of the message. */
const say = async (text: string, members: object = {}) =>
  (await world.say(text, { token: ada, ...members })).response;
const claim = (members: object = {}) => say(CLAIM, members);
const FAILED: Sent = { outcome: 'answered', status: 409, result: {} };
const UNKNOWN: Sent = { outcome: 'answered', status: 503, result: {} };

describe('a reply that says that something was changed', () => {
  it('ends with the note that nothing was, in the trace and the metrics, too', async () => {
    expect(await claim()).toBe(`You said: ${CLAIM}${NOTE}`);
    const [trace] = await world.store.traces.find('room');
    expect(trace?.lines).toContainEqual(
      expect.objectContaining({ step: 'claim', verdict: 'fallback', reason: 'claim_without_action' }),
    );
    const metrics = new Metrics({ version: '1', commit: null });
    expect(await metrics.text()).toContain('agentd_unbacked_claims_total 0\n');
    if (trace) metrics.turnTraced(trace, false);
    expect(await metrics.text()).toContain('agentd_unbacked_claims_total 1\n');
  });

  it('is in the language of the person', async () => {
    const german = await token({ sub: 'ada', claims: { locale: 'de' } });
    const texts = new Texts(new Map([['de', { nothing_changed: 'Nichts geändert.' }]]));
    world = await ConfirmationWorld.open({ texts, tool: { confirm: 'never', source: sourceOf({}) } });
    expect(await say('Ich habe es storniert.', { token: german })).toMatch(/\n\nNichts geändert\.$/);
  });

  it('has no note if the reply says something else', async () => {
    expect(await say('Shall I cancel your order?')).toBe('You said: Shall I cancel your order?');
  });

  it('has no note if no tool that writes is offered', async () => {
    world = await openWorld({ offered: () => false });
    expect(await claim()).not.toContain(NOTE);
    world = await openWorld({ effect: 'read' });
    expect(await claim()).not.toContain(NOTE);
  });

  it('has no note if this run wrote something', async () => {
    world.otherwise = async function* ({ tools }) {
      await tools.find(({ name }) => name === 'cancel_order')?.call({ id: String(world.calls.length) });
      yield CLAIM;
    };
    expect(await say('please')).not.toContain(NOTE);
    // The line about a call that failed says enough.
    world.answer = async () => FAILED;
    expect(await say('please', { session: 'fresh' })).not.toContain(NOTE);
  });

  it('has no note if the run remembered something', async () => {
    let [name, args] = ['remember', { text: 'I like tea' } as object];
    world.otherwise = async function* ({ tools }) {
      await tools.find((tool) => tool.name === name)?.call(args);
      yield 'I have saved that.';
    };
    expect(await say('I like tea')).toBe('I have saved that.');
    [name, args] = ['recall', { query: 'tea' }];
    expect(await say('I like tea')).toBe(`I have saved that.${NOTE}`);
  });

  it('has no note while a call waits for the person', async () => {
    world = await openWorld({ confirm: 'always' });
    const [, second] = await Promise.all([say('cancel 1'), claim()]);
    // It was accepted before the question was sent, so it leaves the action pending.
    expect(second).toContain(`You said: ${CLAIM}`);
    expect(second).not.toContain(NOTE);
  });

  it.each([
    ['done', undefined, false],
    ['unknown', UNKNOWN, false],
    ['failed', FAILED, true],
  ])(
    'has a note after an earlier write of the session only if that failed (%s)',
    async (_, sent, isNoted) => {
      if (sent) world.answer = async () => sent;
      await say('cancel 1004');
      expect((await claim()).endsWith(NOTE)).toBe(isNoted);
    },
  );

  it('has a note if only somebody else, or another session, has written', async () => {
    await say('cancel 1004', { session: 'other' });
    expect(await claim()).toContain(NOTE);
    world = await openWorld({ credentials: 'none' });
    await world.write('cancel 1004', 'bert');
    expect((await world.write(CLAIM, 'ada'))[0]).toContain(NOTE);
    expect((await world.write(CLAIM, 'bert'))[0]).not.toContain(NOTE);
    // The next user with the same id.
    expect((await world.write(CLAIM, 'bert', { alias_id: 'next' }))[0]).toContain(NOTE);
    for (const sub of ['ada', 'bert']) await link(world.services, TELEX, sub, await token({ sub }));
    await world.write('cancel 1005', 'ada');
    expect((await world.write(CLAIM, 'bert'))[0]).toContain(NOTE);
    expect((await world.write(CLAIM, 'ada'))[0]).not.toContain(NOTE);
  });

  it('never has a note if the builtin agent says it', async () => {
    const { run } = world.services.agent;
    world.services.agent = Object.assign(createBuiltin(), { run });
    expect(await claim()).toBe(`You said: ${CLAIM}`);
  });
});
