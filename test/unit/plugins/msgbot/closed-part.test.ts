import { describe, expect, it } from 'vitest';
import { closedPart } from '../../../../plugins/msgbot/render.ts';

const question = (text: string) => ({
  ...{ id: 'AAAAAAAAAAAAAAAAAAAAAA', lead: '', confirm: 'Confirm', decline: 'Decline' },
  question: text,
});

describe('a question in Telegram that was answered', () => {
  it('says below it what became of it, as text', async () => {
    expect(await closedPart(question('Cancel <b>'), 'Confirmed by <Ada> & co.')).toEqual({
      text: 'Cancel &lt;b&gt;\n\nConfirmed by &lt;Ada&gt; &amp; co.',
    });
  });

  it('only loses its buttons if there is no room for the outcome', async () => {
    expect(await closedPart(question('x'.repeat(4090)), 'Declined.')).toEqual({ text: null });
    expect(await closedPart(question('x'.repeat(4085)), 'Declined.')).not.toEqual({ text: null });
  });

  it('is left as it is if it had no buttons', async () => {
    expect(await closedPart(question('x'.repeat(4097)), 'Declined.')).toBeNull();
  });
});
