import { describe, expect, it } from 'vitest';
import { isSigned } from '../../../../plugins/msgbot/receive.ts';

const SECRET = 'a-Webhook_Secret-0123456789';

describe('isSigned', () => {
  it('accepts only the exact secret', () => {
    expect(isSigned(SECRET, SECRET)).toBe(true);
    for (const wrong of [
      undefined,
      '',
      SECRET.slice(0, -1),
      `${SECRET}0`,
      ` ${SECRET}`,
      SECRET.toUpperCase(),
      SECRET.replace('9', '8'),
      `${SECRET}, ${SECRET}`,
      'é'.repeat(27),
    ])
      expect(isSigned(wrong, SECRET), wrong).toBe(false);
  });
});
