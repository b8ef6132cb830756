import { describe, expect, it } from 'vitest';
import { closedPart } from '../../../../plugins/msgbot/render.ts';

const closed = (question: string, outcome: string, replaces: 'buttons' | 'question' = 'buttons') =>
  closedPart({
    confirmation: {
      ...{ id: 'AAAAAAAAAAAAAAAAAAAAAA', lead: '', confirm: 'Confirm', decline: 'Decline' },
      question,
    },
    outcome,
    replaces,
  });

describe('a question in Telegram that was answered', () => {
  it('says below it what became of it, as text', async () => {
    expect(await closed('Cancel <b>', 'Confirmed by <Ada> & co.')).toEqual({
      text: 'Cancel &lt;b&gt;\n\nConfirmed by &lt;Ada&gt; &amp; co.',
    });
  });

  it('is only a line if the reply names the action', async () => {
    expect(await closed('Cancel order', 'Confirmed by <Ada>.', 'question')).toEqual({
      text: '<i>Confirmed by &lt;Ada&gt;.</i>',
    });
  });

  it('only loses its buttons if there is no room for the outcome', async () => {
    expect(await closed('x'.repeat(4090), 'Declined.')).toEqual({ text: null });
    expect(await closed('x'.repeat(4085), 'Declined.')).not.toEqual({ text: null });
  });

  it('is left as it is if it had no buttons', async () => {
    expect(await closed('x'.repeat(4097), 'Declined.')).toBeNull();
  });
});
