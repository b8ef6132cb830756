import { describe, expect, it, vi } from 'vitest';
import { sendRenewing } from '../../../../src/daemon/tools/downstream/send-renewing.ts';

/** Sends with these tokens, one after the other; null if there is no other. @returns what came of it */
async function sent(tokens: readonly (string | null)[], statuses: readonly number[], isRenewable = true) {
  const left = [...tokens];
  const answers = [...statuses];
  const requests: string[] = [];
  const refused: string[] = [];
  const result = await sendRenewing(
    {
      obtain: async () => left.shift() ?? null,
      renew(token: string) {
        refused.push(token);
        return isRenewable;
      },
    },
    async (token) => {
      requests.push(token);
      return { status: answers.shift() ?? 0 };
    },
  );
  return { result, requests, refused };
}

describe('a request with a token', () => {
  it('is made once if the token is accepted, whatever else is wrong', async () => {
    for (const status of [200, 403, 500])
      expect(await sent(['first', 'second'], [status])).toEqual({
        result: { token: 'first', answer: { status } },
        requests: ['first'],
        refused: [],
      });
  });

  it('is made once more after a 401, and not a third time', async () => {
    for (const status of [200, 401])
      expect(await sent(['first', 'second', 'third'], [401, status])).toEqual({
        result: { token: 'second', answer: { status } },
        requests: ['first', 'second'],
        refused: ['first'],
      });
  });

  it('is not made again if the token cannot be renewed', async () => {
    expect(await sent(['first', 'second'], [401], false)).toEqual({
      result: { token: 'first', answer: { status: 401 } },
      requests: ['first'],
      refused: ['first'],
    });
  });

  it('is not made without a token', async () => {
    expect(await sent([null], [])).toEqual({ result: null, requests: [], refused: [] });
    expect(await sent(['first', null], [401])).toMatchObject({ result: null, requests: ['first'] });
  });

  it('is answered by the second answer alone: the body of the first is not read', async () => {
    const canceled = vi.fn();
    const first = new Response(new ReadableStream({ cancel: canceled }), { status: 401 });
    const responses = [first, new Response('welcome')];
    const token = { obtain: async () => 'token', renew: () => true };
    const found = await sendRenewing(token, async () => responses.shift() as Response);
    expect(canceled).toHaveBeenCalledOnce();
    expect(await found?.answer.text()).toBe('welcome');
  });
});
