import { describe, expect, it } from 'vitest';
import { renderPhonechat as render } from '../../../support/rendered-replies.ts';

describe('a reply on phonechat', () => {
  it('is split at 4,096 characters, which include markup', async () => {
    const messages = await render(`${'**a b** '.repeat(50)}\n\n`.repeat(30));
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages) {
      expect(message.length).toBeLessThanOrEqual(4096);
      expect(message.match(/\*/g)?.length).toSatisfy((count: number) => count % 2 === 0);
    }
  });
});
