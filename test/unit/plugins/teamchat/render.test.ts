import { describe, expect, it } from 'vitest';
import { renderTeamchat as render } from '../../../support/rendered-replies.ts';

describe('a reply on teamchat', () => {
  it('is split at 4,000 characters, which include escapes and markup', async () => {
    const messages = await render(`${'**a & b** '.repeat(50)}\n\n`.repeat(30));
    expect(messages.length).toBeGreaterThan(3);
    for (const message of messages) {
      expect(message.length).toBeLessThanOrEqual(4000);
      expect(message.replaceAll('&amp;', '')).not.toContain('&');
      expect(message.match(/\*/g)?.length).toSatisfy((count: number) => count % 2 === 0);
    }
  });

  it('has no mention that the platform would resolve', async () => {
    const text = ['<!here>', '<@U1>', '<!subteam^S1>', '<#C1|x>'].map(
      (one) => `${one} **${one}** \`${one}\` [${one}](https://x.example) # ${one}`,
    );
    for (const message of await render(text.join('\n\n'))) expect(message).not.toMatch(/<[!@#]/);
  });
});
