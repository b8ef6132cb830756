import { describe, expect, it } from 'vitest';
import { closedPart, renderParts } from '../../../../plugins/teamchat/render.ts';
import { readBlocks } from '../../../../plugins/teamchat/simulator-blocks.ts';
import { pressPayload, type ReplyConfirmation } from '../../../../src/channel/index.ts';

const ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const OUTCOME = 'Confirmed by you at 14:05. This was done.';

function confirmation(members: Partial<ReplyConfirmation> = {}): ReplyConfirmation {
  return {
    id: ID,
    lead: 'I need your confirmation.',
    question: 'Please confirm: Refund order "1004"',
    confirm: 'Refund',
    decline: 'Decline',
    actions: [
      {
        number: 1,
        title: 'Refund order "1004"',
        details: [
          { label: 'body.amount', title: 'Amount', value: '250' },
          { label: 'body.note', value: '"<!channel> *late* :tada: &amp;"' },
        ],
      },
    ],
    as_line: 'I’ll do this as you, ada@example.com.',
    ...members,
  };
}
const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });
const HEADER = { type: 'header', text: plain('Refund order "1004"') };
const FIELDS = {
  type: 'section',
  fields: [
    { type: 'mrkdwn', text: '*Amount*' },
    plain('250'),
    { type: 'mrkdwn', text: '*body.note*' },
    plain('"&lt;!channel&gt; *late* :\u2060tada: &amp;amp;"'),
  ],
};
const AS = { type: 'context', elements: [plain('I’ll do this as you, ada@example.com.')] };

/** The last message of a reply. */
async function cardOf(members: Partial<ReplyConfirmation> = {}) {
  return (await renderParts({ text: 'all', confirmation: confirmation(members) })).at(-1);
}
const seen = (blocks: readonly object[] = []) => readBlocks(JSON.stringify(blocks));

describe('a question in Slack', () => {
  it('is a card: the action, its arguments as text, for whom, and two buttons, of which one stands out', async () => {
    const [lead, card] = await renderParts({ text: 'all', confirmation: confirmation() });
    expect(lead).toEqual({ text: 'I need your confirmation.' });
    expect(card?.blocks).toEqual([
      HEADER,
      FIELDS,
      AS,
      {
        type: 'actions',
        elements: [
          {
            type: 'button',
            action_id: 'agentd_confirm',
            text: plain('Refund'),
            value: pressPayload(ID, true),
            style: 'primary',
          },
          {
            type: 'button',
            action_id: 'agentd_decline',
            text: plain('Decline'),
            value: pressPayload(ID, false),
          },
        ],
      },
    ]);
    // For notifications, and for screen readers.
    expect(card?.text).toBe('Please confirm: Refund order "1004"');
  });

  it('has the outcome in place of its buttons when it was answered, and is otherwise the same', async () => {
    const part = await closedPart(confirmation(), { outcome: OUTCOME });
    expect(part).toEqual({
      text: `Please confirm: Refund order "1004"\n\n${OUTCOME}`,
      blocks: [HEADER, FIELDS, AS, { type: 'context', elements: [plain(OUTCOME)] }],
    });
    const hostile = await closedPart(confirmation(), {
      outcome: 'Confirmed by <@U1> & :tada: at 14:05.',
    });
    expect(seen(hostile?.blocks)?.text).toContain('Confirmed by &lt;@U1&gt; &amp; :\u2060tada: at 14:05.');
    expect(hostile?.text).not.toContain('<@U1>');
  });

  it('shows the time of the outcome in the time zone of each reader, and otherwise as it was written', async () => {
    const outcome = 'Confirmed by *<@U1>* & :tada: at 14:05 UTC. This was done.';
    const time = { at: Date.UTC(2030, 0, 2, 14, 5, 59), begins_at: 33, words: '14:05 UTC' };
    const part = await closedPart(confirmation(), { outcome, time });
    const text =
      'Confirmed by ∗&lt;@U1&gt;∗ &amp; :\u2060tada: at <!date^1893593159^{time}|14:05 UTC>. This was done.';
    expect(part?.blocks?.at(-1)).toEqual({
      type: 'context',
      elements: [{ type: 'mrkdwn', text, verbatim: true }],
    });
    // Notifications do not show markup.
    expect(part?.text).toContain('at 14:05 UTC. This was done.');
    expect(seen(part?.blocks)?.text).toContain('at <!date^1893593159^{time}|14:05 UTC>');
  });

  it('about several actions lists them with their numbers, and says how to confirm some, until it is answered', async () => {
    const actions = [1, 2].map((number) => ({ number, title: `Cancel order "${number}"`, details: [] }));
    const several = {
      actions,
      heading: 'Please confirm these 2 actions:',
      part_line: 'To confirm only some of them, answer for example "only 1" or "not 2".',
    };
    const card = await cardOf(several);
    expect(seen(card?.blocks)?.text.split('\n')).toEqual([
      'Please confirm these 2 actions:',
      '1. Cancel order "1"',
      '2. Cancel order "2"',
      'I’ll do this as you, ada@example.com.',
      'To confirm only some of them, answer for example "only 1" or "not 2".',
    ]);
    const closed = await closedPart(confirmation(several), { outcome: OUTCOME });
    expect(seen(closed?.blocks)).toEqual({
      text: [
        'Please confirm these 2 actions:',
        '1. Cancel order "1"',
        '2. Cancel order "2"',
        'I’ll do this as you, ada@example.com.',
        OUTCOME,
      ].join('\n'),
      buttons: [],
    });
  });

  it('stays within the limits of blocks, and shows everything', async () => {
    const details = Array.from({ length: 23 }, (_, index) => ({
      label: `name${index}`,
      value: `"${index}"`,
    }));
    const card = await cardOf({ actions: [{ number: 1, title: 'T'.repeat(151), details }] });
    const shown = seen(card?.blocks);
    expect(shown?.text).toContain('T'.repeat(151));
    for (const { label, value } of details) expect(shown?.text).toContain(`*${label}*: ${value}`);
  });

  it.each([
    ['a value', [{ label: 'note', value: `"${'x'.repeat(1999)}"` }]],
    ['the number of arguments', Array.from({ length: 250 }, (_, at) => ({ label: `n${at}`, value: '1' }))],
  ])('is a text above the buttons if %s is too long for a card', async (_, details) => {
    const long = { actions: [{ number: 1, title: 'Refund', details }] };
    const section = {
      type: 'section',
      text: { type: 'mrkdwn', text: 'Please confirm: Refund order "1004"', verbatim: true },
    };
    expect((await cardOf(long))?.blocks).toEqual([section, expect.objectContaining({ type: 'actions' })]);
    const closed = await closedPart(confirmation(long), { outcome: OUTCOME });
    expect(closed?.blocks).toEqual([section, { type: 'context', elements: [plain(OUTCOME)] }]);
  });

  it('is left as it is if it had no buttons', async () => {
    expect(await closedPart(confirmation({ question: 'x'.repeat(3001) }), { outcome: OUTCOME })).toBeNull();
  });
});
