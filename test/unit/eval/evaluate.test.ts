import { readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CaseResult } from '../../../src/daemon/admin/eval.ts';
import { SECRET } from '../../support/daemon.ts';
import { evaluateText, SHOP_ENV, shopFolder } from '../../support/eval-world.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { type CompletionRequest, FakeModel, type ModelAnswer } from '../../support/fake-model.ts';

const SAMPLE = readFileSync(new URL('../../../config/eval/shop.yaml', import.meta.url), 'utf8');

let folder: string;
let model: FakeModel;
beforeAll(async () => {
  folder = shopFolder();
  model = await FakeModel.start();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await model.close();
});

/** Runs one case, given without its name. */
async function run(yaml: string, env?: Record<string, string>): Promise<CaseResult> {
  const { problems, results } = await evaluateText(folder, `- name: it\n${yaml.replace(/^/gm, '  ')}`, env);
  expect(problems).toEqual([]);
  const [result] = results;
  if (!result) throw new Error('nothing ran');
  return result;
}

const whatFailed = ({ failures }: CaseResult) => failures.map(({ turn, what }) => [turn, what]);

/** The model of the sample company: it calls the tool that the message means, and repeats its result. */
function salesperson({ messages }: CompletionRequest): ModelAnswer {
  const last = messages.at(-1);
  if (last?.role === 'tool')
    return { text: [`Please sign in if needed. ${String(last.content)} Cancel order?`] };
  const said = String(last?.content);
  const [, number] = /cancel order (\d+)/i.exec(said) ?? [];
  const system = String(messages[0]?.content);
  if (system.includes('has just confirmed'))
    return { text: [system.slice(system.indexOf('has just confirmed'))] };
  if (number !== undefined)
    return { tools: [{ name: 'shop_cancelOrder', args: { number: Number(number) } }] };
  if (said === 'My orders') return { tools: [{ name: 'shop_listOrders', args: {} }] };
  if (said === 'Products') return { tools: [{ name: 'shop_listProducts', args: {} }] };
  return { text: ['Not done.'] };
}

describe('the cases of the sample company', () => {
  it('pass with the builtin agent', async () => {
    const { problems, results } = await evaluateText(folder, SAMPLE);
    expect(problems).toEqual([]);
    expect(
      results.flatMap(({ name, failures }) => failures.map((failure) => ({ name, ...failure }))),
    ).toEqual([]);
    expect(results).toHaveLength(6);
  });

  it('pass with a model', async () => {
    model.script(salesperson);
    const { results } = await evaluateText(folder, SAMPLE, { AGENT_BASE_URL: model.url, AGENT_MODEL: 'm' });
    expect(
      results.flatMap(({ name, failures }) => failures.map((failure) => ({ name, ...failure }))),
    ).toEqual([]);
    expect(results.every(({ tokens }) => tokens > 0)).toBe(true);
  });
});

describe('several agents', () => {
  const agents = [
    { name: 'next', canary: { percent: 100 } },
    { name: 'german', when: { locale: 'de' }, model: 'german-model' },
    { name: 'rest', tools: ['shop_listOrders'] },
  ];
  const env = () => ({ AGENT_BASE_URL: model.url, AGENT_MODEL: 'm' });
  /** Says which model was called, and how many tools it has. */
  const introduces = ({ model: name, tools = [] }: CompletionRequest): ModelAnswer => ({
    text: [`${name} ${tools.length > 1 ? 'all' : 'one'}`],
  });
  const repliesOf = async (yaml: string, agent?: string) =>
    (await evaluateText(folder, yaml, env(), { agents, agent })).results.map(({ turns }) => turns[0]?.reply);
  const CASES = ['de-AT', 'en'].map(
    (locale) => `- { name: ${locale}, as: { sub: ada, locale: ${locale} }, turns: [{ say: Hello }] }`,
  );

  it('answer the cases that fit them, each with its model and tools, but none with a share of persons', async () => {
    model.script(introduces);
    const [german, rest] = await repliesOf(CASES.join('\n'));
    expect(german).toBe('german-model all');
    expect(rest).toBe('m one');
  });

  it('are not asked if one is named, which then answers all cases', async () => {
    model.script(introduces);
    expect(await repliesOf(CASES.join('\n'), 'rest')).toEqual(['m one', 'm one']);
    expect(await repliesOf(CASES.join('\n'), 'next')).toEqual(['m all', 'm all']);
  });
});

describe('a call that waits for the person', () => {
  it.each(['[]', '[shop_cancelOrder]'])('need not be listed before the yes: %s', async (calls) => {
    const result = await run(
      `as: { sub: ada }\nstubs: { shop_cancelOrder: { json: {} } }\nturns: [{ say: Cancel order 1004, expect: { asks: true, calls: ${calls} } }, { say: yes, expect: { calls: [shop_cancelOrder] } }]`,
    );
    expect(result.failures).toEqual([]);
  });
});

describe('a case fails', () => {
  it.each<[string, string, unknown[]]>([
    [
      'if the reply does not match',
      'turns: [{ say: Hello, expect: { reply: { matches: /bye/ } } }]',
      [[1, 'reply']],
    ],
    [
      'if the reply has a text that it must not have',
      'turns: [{ say: Hello, expect: { reply: { lacks: [ASSISTANT] } } }]',
      [[1, 'reply']],
    ],
    ['if other calls were made', 'turns: [{ say: My orders, expect: { calls: [] } }]', [[1, 'calls']]],
    [
      'if a call has other arguments',
      'as: { sub: ada }\nturns: [{ say: Cancel order 1004, expect: { calls: [{ tool: shop_cancelOrder, args: { number: 1005 } }] } }]',
      [[1, 'calls']],
    ],
    [
      'if it asks to confirm',
      'as: { sub: ada }\nturns: [{ say: Cancel order 1004, expect: { asks: false } }]',
      [[1, 'asks']],
    ],
    [
      'if it does not ask to confirm',
      'turns: [{ say: Cancel order 1004, expect: { asks: true } }]',
      [[1, 'asks']],
    ],
    [
      'if a call has a canary that the reply has not',
      'as: { sub: ada }\nstubs: { shop_cancelOrder: { json: {} } }\nremembered: [Likes punched cards]\ncanaries: [PUNCHED]\nturns: [{ say: Hello punched }]'.replace(
        'Hello punched',
        'Hello cards',
      ),
      [[1, 'canary']],
    ],
    [
      'if a result has a canary in JSON within a text',
      `as: { sub: ada }\nstubs: { shop_listOrders: { json: '{"size":"5\\" wide"}' } }\ncanaries: ['5" wide']\nturns: [{ say: My orders }]`,
      [[1, 'canary']],
    ],
  ])('%s', async (_, yaml, expected) => {
    const result = await run(yaml);
    expect(whatFailed(result)).toEqual(expected);
    expect(result).toMatchObject({ passed: false, passed_runs: 0 });
  });

  it('if a turn fails, and then ends', async () => {
    model.script([{ status: 400 }]);
    const result = await run('turns: [{ say: Hello }, { say: Again }]', {
      ...{ AGENT_BASE_URL: model.url, AGENT_MODEL: 'm' },
    });
    expect(result.failures).toEqual([
      { run: 1, turn: 1, what: 'failed', detail: 'the turn failed: agent_failed' },
    ]);
  });

  it('if one of its runs fails; all runs are made', async () => {
    model.script([{ text: ['Yes.'] }, { text: ['No.'] }, { text: ['Yes.'] }]);
    const result = await run(
      'repeat: 3\nturns: [{ say: Hello, expect: { reply: { matches: "yes" } } }]'.replace('"yes"', '/yes/i'),
      {
        ...{ AGENT_BASE_URL: model.url, AGENT_MODEL: 'm' },
      },
    );
    expect(result).toMatchObject({ passed: false, passed_runs: 2, repeat: 3, failures: [{ run: 2 }] });
  });
});

describe('the tools of a case', () => {
  const shownToStranger = (stub: string) =>
    run(`stubs: { get_user: ${stub} }\nturns: [{ say: grace@example.com }]`);

  it('show a stranger only the public fields of a stub', async () => {
    // Longer than what an id of the run may contain by chance.
    const open = 'stubs: { open_orders: { json: [{ number: "order-1004", status: packed }] } }';
    const turns = 'turns: [{ say: My orders, expect: { calls: [open_orders] } }]';
    model.script(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return { text: [String(last.content)] };
      return { tools: [{ name: 'open_orders', args: {} }] };
    });
    const env = { AGENT_BASE_URL: model.url, AGENT_MODEL: 'm' };
    const nobody = await run(`${open}\ncanaries: ["order-1004"]\n${turns}`, env);
    expect(nobody).toMatchObject({ failures: [], turns: [{ reply: '[{"status":"packed"}]' }] });
    const ada = await run(`as: { sub: ada }\n${open}\n${turns}`, env);
    expect(ada.turns[0]?.reply).toContain('order-1004');
    const refused = 'stubs: { open_orders: { status: 403, json: { error: "order-1004" } } }';
    expect((await run(`${refused}\ncanaries: ["order-1004"]\n${turns}`, env)).failures).toEqual([]);
  });

  it('show a stranger no more of a stub than of the business system', async () => {
    const orders =
      'stubs: { shop_listOrders: { json: [{ number: "order-1004" }] } }\ncanaries: ["order-1004"]';
    expect((await run(`${orders}\nturns: [{ say: My orders }]`)).failures).toEqual([]);
    expect((await run(`as: { sub: ada }\n${orders}\nturns: [{ say: My orders }]`)).failures).not.toEqual([]);
    expect((await shownToStranger('{ json: { found: false, message: x } }')).failures).toEqual([]);
  });

  it('answer recorded results, `not recorded`, and hold writes', async () => {
    const recorded =
      'as: { sub: ada }\nrecorded: [{ tool: shop_listOrders, result: [{ number: "order-1004" }] }]';
    const found = await run(
      `${recorded}\nturns: [{ say: My orders, expect: { reply: { matches: "order-1004" } } }]`,
    );
    expect(found.failures).toEqual([]);
    const missing = await run('as: { sub: ada }\nturns: [{ say: My orders }]');
    expect(missing.turns[0]?.reply).toContain('not recorded');
    // The failure says what to do, once something else has failed, too.
    expect(missing.failures).toEqual([]);
    const failed = await run(
      'as: { sub: ada }\nturns: [{ say: My orders, expect: { reply: { matches: "order-1004" } } }]',
    );
    expect(failed.failures).toMatchObject([
      { what: 'reply' },
      {
        ...{ turn: 1, what: 'stubs' },
        detail: 'shop_listOrders was answered `not recorded`: give it an answer under `stubs`',
      },
    ]);
    const held = await run('as: { sub: ada }\nturns: [{ say: Cancel order 1004 }, { say: yes }]');
    expect(held.turns[1]).toMatchObject({
      reply: expect.stringContaining('held'),
      calls: [{ tool: 'shop_cancelOrder', ok: false }],
    });
  });

  it('ask the business system if the case is live: reads as nobody, and never a write', async () => {
    const api = await FakeApi.start({
      secret: SECRET,
      email: SHOP_ENV.API_EMAIL,
      password: SHOP_ENV.API_PASSWORD,
    });
    const env = { API_BASE_URL: api.url, GET_USER: 'on' };
    const live = await run('tools: live\nturns: [{ say: bob@example.com }]', env);
    expect(live.failures).toEqual([]);
    // A write with the default credentials, which asks nobody.
    model.script([{ tools: [{ name: 'open_cancel', args: { number: 1004 } }] }, { text: ['Done.'] }]);
    const write = await run('tools: live\nturns: [{ say: Cancel it }]', {
      ...{ ...env, AGENT_BASE_URL: model.url, AGENT_MODEL: 'm' },
    });
    expect(write.turns[0]?.calls).toMatchObject([{ tool: 'open_cancel', ok: false }]);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('held');
    expect(api.seen('/users').map(({ sub }) => sub)).toEqual(['service']);
    expect(api.requests.every(({ path }) => path === '/users' || path === '/authentication_token')).toBe(
      true,
    );
    await api.close();
  });

  it('act on a platform for the person who is linked there', async () => {
    const orders = 'stubs: { shop_listOrders: { json: [{ number: "order-1004" }] } }';
    for (const channel of ['msgbot', 'teamchat', 'phonechat', 'sse']) {
      const turns = 'turns: [{ say: My orders, expect: { reply: { matches: "order-1004" } } }]';
      const result = await run(`channel: ${channel}\nas: { sub: ada }\n${orders}\n${turns}`);
      expect(result.failures, channel).toEqual([]);
      const nobody = await run(
        `channel: ${channel}\n${orders}\ncanaries: ["order-1004"]\nturns: [{ say: My orders }]`,
      );
      expect(nobody.failures, channel).toEqual([]);
    }
  });

  it('may name the channel by its title in lower case', async () => {
    const result = await run('channel: telegram\nturns: [{ say: Hello }]');
    expect(result.failures).toEqual([]);
  });

  it('must exist, and so must the channel', async () => {
    const { problems, results } = await evaluateText(
      folder,
      '- { name: it, channel: telex, stubs: { shop_pay: {} }, turns: [{ say: Hello }] }',
    );
    expect(results).toEqual([]);
    expect(problems.map(({ problem }) => problem)).toEqual([
      'there is no channel telex',
      'there is no tool shop_pay',
    ]);
  });
});

describe('what was before a case', () => {
  it('is its history, its memory and its time', async () => {
    model.script([{ text: ['Hi.'] }]);
    await run(
      'as: { sub: ada }\nat: 2030-01-31T12:00:00Z\nbefore: [{ say: I am tired, reply: Sleep well. }]\nremembered: [Prefers tea over coffee]\nturns: [{ say: Tea or coffee? }]',
      { AGENT_BASE_URL: model.url, AGENT_MODEL: 'm' },
    );
    const [{ messages } = { messages: [] }] = model.requests;
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(messages[1]?.content).toBe('I am tired');
    expect(String(messages[0]?.content)).toContain('It is 2030-01-31T12:00:0');
    expect(String(messages[0]?.content)).toContain('Prefers tea over coffee');
  });
});

describe('a rubric', () => {
  const env = () => ({ AGENT_BASE_URL: model.url, AGENT_MODEL: 'm', AGENT_EVAL_MODEL: 'judge' });
  const judged = (verdict: string) =>
    model.script(({ model: name }) => ({ text: [name === 'judge' ? verdict : 'Go away.'] }));

  it('is judged by AGENT_EVAL_MODEL, which sees the conversation as data', async () => {
    judged('FAIL\nIt is rude.');
    const failed = await run('rubric: [polite]\nturns: [{ say: Hello }]', env());
    expect(failed.failures).toEqual([{ run: 1, turn: null, what: 'rubric', detail: 'polite: It is rude.' }]);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Go away.');
    judged('**PASS**');
    expect((await run('rubric: [polite]\nturns: [{ say: Hello }]', env())).passed).toBe(true);
    judged('Perhaps.');
    expect((await run('rubric: [polite]\nturns: [{ say: Hello }]', env())).passed).toBe(false);
  });

  it('never overrules the rest', async () => {
    judged('PASS');
    const result = await run(
      'rubric: [polite]\nturns: [{ say: Hello, expect: { calls: [get_user] } }]',
      env(),
    );
    expect(whatFailed(result)).toEqual([[1, 'calls']]);
    expect(model.requests.map((request) => request.model)).toEqual(['m']);
  });
});
