import { describe, expect, it } from 'vitest';
import { addressOfUser, linkAddress } from '../../../../plugins/phonechat/index.ts';

const CONFIGURED = { numbers: new Set(['105', '106']) };

describe('the address that sends a link code', () => {
  it('opens WhatsApp with the code ready to send to our first number, which is asked for once', async () => {
    const asked: string[] = [];
    const found = [{ problem: 'down' }, { number: '+1 555-010 9999' }];
    const look = async (id: string) => {
      asked.push(id);
      return found.shift() as never;
    };
    const address = linkAddress({ look }, CONFIGURED);
    expect(await address('ABCDE23456')).toBeNull();
    for (let times = 0; times < 2; times++)
      expect(await address('ABCDE23456')).toBe('https://wa.me/15550109999?text=link%20ABCDE23456');
    expect(asked).toEqual(['105', '105']);
    expect(await linkAddress({ look }, { numbers: new Set() })('ABCDE23456')).toBeNull();
  });
});

it('a private chat is with a number or a business-scoped id, from our first number', () => {
  expect(addressOfUser('+15550123', CONFIGURED)).toEqual({ number_id: '105', to: '15550123' });
  expect(addressOfUser('DE.13491208655302741918', CONFIGURED)).toEqual({
    number_id: '105',
    recipient: 'DE.13491208655302741918',
  });
  for (const user_id of ['15550123', 'ada', '']) expect(addressOfUser(user_id, CONFIGURED)).toBeNull();
});
