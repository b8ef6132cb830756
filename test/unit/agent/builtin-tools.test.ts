import { describe, expect, test } from 'vitest';
import type { AgentTool, AgentTurn, ToolAnswer } from '../../../src/agent/index.ts';
import { createBuiltin } from '../../../src/daemon/agent/builtin.ts';
import { agentTurn, fakeTool, replyOf } from '../../support/agent-turn.ts';

const builtin = createBuiltin();
const say = (text: string, tools: AgentTool[], rest: Partial<AgentTurn> = {}) =>
  replyOf(builtin.run(agentTurn({ text, tools, ...rest })));

type Made = ReturnType<typeof fakeTool>;
const FOUND: ToolAnswer = { ok: true, result: { id: 7 } };
/** A tool with this title and the given changes. By default, it only reads and needs no argument. */
function aTool(title: string | null, changes: Partial<AgentTool> = {}, answer = FOUND): Made {
  const parameters = { type: 'object', properties: { page: { type: 'integer' } } };
  return { ...fakeTool(answer), name: 'shop_x', title, parameters, ...changes };
}
const needs = (name: string, schema: object) => ({
  parameters: { type: 'object', required: [name], properties: { [name]: schema, page: {} } },
});
const ORDER = needs('order_id', { type: 'string' });
const CANCEL = { effect: 'write', confirm: 'always', ...ORDER } as const;

describe('the tool that the builtin agent calls', () => {
  test.each(['What are my orders?', 'MY ORDERS', 'orders, all of my own'])(
    'has a title whose words are all in the message: %j',
    async (text) => {
      const tool = aTool('My orders');
      expect(await say(text, [tool])).toBe('Your orders:\n\n- **Id**: 7');
      expect(tool.calls).toEqual([{}]);
    },
  );

  test.each(['What are their orders?', 'myorders', 'my order'])(
    'is not a tool with words in its title that are not in the message: %j',
    async (text) => {
      const tool = aTool('My orders');
      await say(text, [tool]);
      expect(tool.calls).toEqual([]);
    },
  );

  test.each(['Cancel order A1', 'Cancel an order: A1', 'please cancel order A1'])(
    'is found without the articles in its title: %j',
    async (text) => {
      const tool = aTool('Cancel an order', CANCEL);
      await say(text, [tool]);
      expect(tool.calls).toEqual([{ order_id: 'A1' }]);
    },
  );

  test('is not a tool whose title has only an article in common with the message', async () => {
    const [cancel, article] = [aTool('Cancel an order', CANCEL), aTool('The')];
    await say('What is the time of an order?', [cancel, article]);
    expect([cancel.calls, article.calls]).toEqual([[], []]);
  });

  test('is found by the words of its name if it has no title', async () => {
    const tool = aTool(null, { name: 'shop_listNew-products' });
    expect(await say('shop: list the new products', [tool])).toMatch(/^Shop list new products:/);
    expect(tool.calls).toEqual([{}]);
  });

  test('is the tool with the most words in its title if several tools match', async () => {
    const [orders, mine] = [aTool('Orders'), aTool('My orders')];
    await say('what are my orders', [orders, mine]);
    expect([orders.calls.length, mine.calls.length]).toEqual([0, 1]);
  });

  test('is chosen before the agent applies its own rules', async () => {
    const [user, mine] = [fakeTool(FOUND), aTool('My orders')];
    await say('my orders for ada@example.com', [user, mine]);
    expect([user.calls.length, mine.calls.length]).toEqual([0, 1]);
  });

  test('is not get_user just because the message contains the words of its name', async () => {
    const user = fakeTool(FOUND);
    expect(await say('please get the user', [user])).toMatch(/^I can’t answer that/);
  });
});

describe('the only required argument of a tool', () => {
  test('is read quickly from the longest message', async () => {
    const tool = aTool('Order status', ORDER);
    const began = process.cpuUsage();
    await say(`order status a${'. '.repeat(7_000)}a`, [tool]);
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(200);
    expect(tool.calls).toHaveLength(1);
  });

  test.each<[string, object, unknown]>([
    ['Order status 1004', { type: 'string' }, '1004'],
    ['What is the order status of 1004?', { type: 'string' }, 'of 1004'],
    ['  order STATUS:  "A-7  b". ', { type: 'string' }, 'A-7 b'],
    ['order status “5”', { type: 'string' }, '5'],
    ['order status "5" or "6"', { type: 'string' }, '"5" or "6"'],
    ['order status ../x', { type: 'string' }, '../x'],
    ['order status #1004!', { type: 'string' }, '1004'],
    ['order status - 1004', { type: 'string' }, '1004'],
    ['1004 order status', { type: 'string' }, '1004'],
    ['order status of number 1004, please', { type: 'integer' }, 1004],
    ['order status -2.5', { type: ['number', 'null'] }, -2.5],
    ['order status: all that is Open', { enum: ['open', 'shipped'] }, 'open'],
    ['order status x', {}, 'x'],
    ['order status to be checked', { type: 'string' }, 'to be checked'],
  ])('is read from %j with the schema %j as %j', async (text, schema, value) => {
    const tool = aTool('Order status', needs('id', schema));
    await say(text, [tool]);
    expect(tool.calls).toEqual([{ id: value }]);
  });

  test.each<[string, object]>([
    ['order status', { type: 'string' }],
    ['order status ?', { type: 'string' }],
    ['order status of my lamp', { type: 'integer' }],
    ['order status 1 or 2', { type: 'integer' }],
    ['order status lost', { enum: ['open'] }],
    ['order status yes', { type: 'boolean' }],
  ])('is requested from the person if %j contains no value for the schema %j', async (text, schema) => {
    const tool = aTool('Order status', needs('orderId', schema));
    expect(await say(text, [tool])).toBe(
      'To do that, I need the order id. Write **Order status**, followed by the order id.',
    );
    expect(tool.calls).toEqual([]);
  });

  test('may be inside an object', async () => {
    const address = { type: 'object', required: ['address'], properties: { address: { type: 'string' } } };
    const tool = aTool('New address', { ...CANCEL, ...needs('body', address) });
    await say('New address: 5 Main St.', [tool]);
    expect(tool.calls).toEqual([{ body: { address: '5 Main St' } }]);
  });

  test('is not read from a message if the tool requires another argument as well', async () => {
    const parameters = { type: 'object', required: ['a', 'b'], properties: { a: {}, b: {} } };
    const tool = aTool('Compare orders', { parameters });
    await say('compare orders 1 and 2', [tool]);
    expect(tool.calls).toEqual([]);
  });
});

describe('a tool that writes', () => {
  const waits: ToolAnswer = { ok: true, result: { waits_for_confirmation: true, message: 'Not done yet.' } };

  test('is called if the person must confirm the call, because the daemon then asks the person', async () => {
    const tool = aTool('Cancel order', CANCEL, waits);
    expect(await say('Cancel order 1004', [tool])).toBe('I can do that once you confirm it.');
    expect(tool.calls).toEqual([{ order_id: '1004' }]);
  });

  test.each<[string, Partial<AgentTool>]>([
    ['nobody has to confirm it', { ...CANCEL, confirm: 'never' }],
    [
      'it needs no argument, because a mere question could then trigger it',
      { effect: 'write', confirm: 'always' },
    ],
  ])('is not called if %s', async (_why, changes) => {
    const tool = aTool('Cancel order', changes);
    await say('Cancel order 1004', [tool]);
    expect(tool.calls).toEqual([]);
  });
});

describe('the result of a tool is shown as Markdown:', () => {
  test.each<[unknown, string]>([
    [
      [
        { id: 1, item: 'Lamp *', tags: ['a', 'b'] },
        { id: 2, item: 'Rug' },
      ],
      'Mine:\n\n- **1**\u00a0· Item: Lamp \\*\n  - Tags: a, b\n- **2**\u00a0· Item: Rug',
    ],
    [['red', 'blue'], 'Mine:\n\n- red\n- blue'],
    [{ orders: [{ id: 1 }] }, 'Mine:\n\n- **Orders** (1)\n  - Id: 1'],
    ['Two lines\nof [text](http://x)', 'Mine:\n\nTwo lines\nof \\[text\\](http://x)'],
    [42, 'Mine:\n\n42'],
    [[], 'Mine: I found nothing.'],
    [null, 'Mine: I found nothing.'],
    [{ sign_in_needed: true, message: 'It is personal.' }, 'Sign in, and ask me again. It is personal.'],
  ])('%j', async (result, reply) => {
    expect(await say('mine', [aTool('Mine', {}, { ok: true, result })])).toBe(reply);
  });

  test('a call that needs sign-in is answered with a request to sign in', async () => {
    const message = 'Sign-in is needed for this: nothing was done.';
    const mine = aTool('Mine', {}, { ok: false, message });
    expect(await say('mine', [mine])).toBe('I can’t do that yet, because you’re not signed in.');
    expect(await say('mine', [mine], { person: { email: 'ada@example.com' } })).toMatch(
      /^Your sign-in was not accepted .* Please sign in again/,
    );
  });

  test('a failed call is reported with its message', async () => {
    const tool = aTool('Mine', {}, { ok: false, message: 'The API is down.' });
    expect(await say('mine', [tool])).toBe('That did not work. The API is down.');
  });

  test('an argument that does not fit is named as the list of abilities names it', async () => {
    const message = 'The argument `order_id` must have at least 5 characters.';
    const tool = aTool('Cancel order', CANCEL, { ok: false, message });
    expect(await say('cancel order 7', [tool])).toBe(
      'That did not work. The order id must have at least 5 characters.',
    );
  });

  test('a failed call is reported without what its message asks of a model', async () => {
    const message = 'It is not known whether this was done. Tell the person, and do not repeat it.';
    const tool = aTool('Mine', {}, { ok: false, message });
    expect(await say('mine', [tool])).toBe('That did not work. It is not known whether this was done.');
  });

  test.each([
    [': {"error":"It is *shipped*."}', 'It is \\*shipped\\*.'],
    [': {"title":"Conflict","detail":"It is shipped"}', 'It is shipped'],
    [': It is shipped', 'It is shipped'],
    [': {"code":7}', 'The request was refused (status 409).'],
    [': {"error":"cut', 'The request was refused (status 409).'],
    [': <html>', 'The request was refused (status 409).'],
    ['', 'The request was refused (status 409).'],
  ])('a refused call is reported in a sentence%s', async (body, words) => {
    const answer = body === '' ? '' : ` The answer was${body}`;
    const message = `The call was refused with the status 409.${answer}`;
    const tool = aTool('Mine', {}, { ok: false, message });
    expect(await say('mine', [tool])).toBe(`That did not work. ${words}`);
  });
});

test('help lists the tools that a person can ask for', async () => {
  const reply = await say('help', [
    fakeTool(FOUND),
    aTool('My orders'),
    aTool('Cancel order', CANCEL),
    aTool('Delete all', { effect: 'write', confirm: 'always' }),
  ]);
  expect(reply).toContain('\n- **My orders**\n- **Cancel order**, followed by the order id\n');
  expect(reply).not.toMatch(/Delete all|get_user/);
  const many = Array.from({ length: 25 }, (_, n) => aTool(`Tool ${n}`));
  expect(await say('help', many)).toContain('**Tool 19**\n- and 5 more');
});
