import { describe, expect, test, vi } from 'vitest';
import type { AgentTurn } from '../../../src/agent/index.ts';
import { createBuiltin } from '../../../src/daemon/agent/builtin.ts';
import { agentTurn, fakeTool, piecesOf, replyOf } from '../../support/agent-turn.ts';
import { ALICE, BOB } from '../../support/fake-api.ts';

const person = { email: ALICE.email, name: ALICE.name };
const builtin = createBuiltin();
const say = (changes: Partial<AgentTurn>) => replyOf(builtin.run(agentTurn(changes)));
const found = (user: object) => fakeTool({ ok: true, result: { user } });
const signInNeeded = (user?: object) =>
  fakeTool({ ok: true, result: { sign_in_needed: true, message: 'x', ...(user ? { user } : {}) } });

describe('a signed-in person', () => {
  test.each([
    'Who am I?',
    'who am i',
    'Show me my orders, please',
    'what do you know about me?',
    'Am I logged in?',
    "What's in my account?",
    'my last three orders',
  ])('asks %j and gets their own record', async (text) => {
    const tool = found(ALICE);
    expect(await say({ text, person, tools: [tool] })).toBe(
      [
        'You are **Alice Example** (alice@example.com). This is what I found about you:',
        '',
        '- **Id**: user-1',
        '- **Email**: alice@example.com',
        '- **Name**: Alice Example',
        '- **Phone**: +15550100',
        '- **Orders** (2)',
        '  - **A-1001**\u00a0· Status: shipped\u00a0· Total: 42.5',
        '  - **A-1002**\u00a0· Status: open\u00a0· Total: 7',
      ].join('\n'),
    );
    expect(tool.calls).toEqual([{}]);
  });

  test('asks about an address and gets the record of that address', async () => {
    const tool = found(BOB);
    const reply = await say({ text: 'Look up <bob@example.com>.', person, tools: [tool] });
    expect(reply).toMatch(/^This is what I found for bob@example\.com:\n\n- \*\*Id\*\*: user-2\n/);
    expect(tool.calls).toEqual([{ email: 'bob@example.com' }]);
  });

  test.each([
    ['bob@example.com?', 'I found nobody with the address bob@example.com.'],
    [
      'Who am I?',
      'You are **Alice Example** (alice@example.com). The business system has no record of you, though.',
    ],
  ])('asks %j and learns that there is no record', async (text, reply) => {
    const tool = fakeTool({ ok: true, result: { found: false, message: 'x' } });
    expect(await say({ text, person, tools: [tool] })).toBe(reply);
  });

  test('learns that a tool has failed', async () => {
    const tool = fakeTool({ ok: false, message: 'The business API did not answer in time.' });
    expect(await say({ text: 'Who am I?', person, tools: [tool] })).toBe(
      'You are **Alice Example** (alice@example.com). I could not look that up. The business API did not answer in time.',
    );
  });

  test('learns that the business system did not accept the sign-in', async () => {
    expect(await say({ text: 'Who am I?', person, tools: [signInNeeded()] })).toBe(
      'Your sign-in was not accepted by the system that holds the data. Please sign in again, then ask once more.',
    );
  });

  test.each([
    ['bob@example.com', 'bob@example.com'],
    ['Who am I?', 'alice@example.com'],
  ])('asks %j and reads what is public, if the sign-in was not accepted', async (text, address) => {
    expect(await say({ text, person, tools: [signInNeeded({ name: 'Somebody' })] })).toBe(
      `This is public about ${address}:\n\n- **Name**: Somebody\n\nYour sign-in was not accepted by the system that holds the data. Please sign in again, then ask once more.`,
    );
  });

  test('is greeted by name', async () => {
    expect(await say({ text: 'Hello!', person })).toMatch(
      /^Hello Alice Example! You are signed in as alice@example\.com\. I’m the assistant\./,
    );
  });

  describe('without the tool that looks up users', () => {
    const other = { ...fakeTool({ ok: true, result: [] }), name: 'shop_listOrders', title: 'List orders' };

    test('learns who they are, and what else they can ask', async () => {
      const reply = await say({ text: 'Who am I?', person, tools: [other] });
      expect(reply).toMatch(
        /^You are \*\*Alice Example\*\* \(alice@example\.com\)\. I cannot look up more about you\.\n\nYou can write:/,
      );
      expect(reply).toContain('- **List orders**');
    });

    test('is not told that it could look up people, and is not taken for the person of an address', async () => {
      expect(await say({ text: 'help', person, tools: [other] })).not.toContain('look that person up');
      expect(await say({ text: 'help', person, tools: [found(ALICE)] })).toContain('look that person up');
      const reply = await say({ text: 'bob@example.com', person, tools: [other] });
      expect(reply).toMatch(/^I cannot look people up here\.\n\n/);
      expect(reply).not.toContain('Alice');
    });
  });
});

describe('a visitor', () => {
  test('is asked to sign in before the agent can say who they are', async () => {
    expect(await say({ text: 'Who am I?', tools: [signInNeeded()] })).toBe(
      'I don’t know who you are, because you’re not signed in.',
    );
    expect(await say({ text: 'Who am I?', tools: [] })).toMatch(
      /^I don’t know who you are, because you’re not signed in\.\n\nYou can write:/,
    );
  });

  test('learns nothing about an address', async () => {
    expect(await say({ text: 'alice@example.com', tools: [signInNeeded()] })).toBe(
      'I can’t show details about a person, because you’re not signed in.',
    );
  });

  test('sees the public fields of a record if there are any', async () => {
    expect(await say({ text: 'alice@example.com', tools: [signInNeeded({ name: 'Alice Example' })] })).toBe(
      'This is public about alice@example.com:\n\n- **Name**: Alice Example\n\nSign in to see more.',
    );
  });

  test('is greeted, and learns that answers are personal after sign-in', async () => {
    const reply = await say({ text: 'hi there' });
    expect(reply).toMatch(
      /^Hello! I’m the assistant\. I have no language model, so I follow a few simple rules\./,
    );
    expect(reply).toContain(
      'You’re not signed in, so my answers are general. Sign in to get answers about you.',
    );
  });

  test('learns which service the assistant belongs to, if the service has a name', async () => {
    const reply = await say({ text: 'hi there', app_name: 'Shop *24*' });
    expect(reply).toMatch(/^Hello! I’m the assistant of Shop \\\*24\\\*\./);
  });

  test.each([
    [
      'that the person has confirmed',
      { confirmed_actions: [{ tool: 'cancel', summary: 'Cancel 1', answer: { ok: true, result: {} } }] },
    ],
    [
      'of an interrupted run',
      { already_done: [{ tool: 'cancel', summary: 'Cancel 1', outcome: 'done', status: 200 }] },
    ],
  ] as const)('leaves it to the daemon to report a write %s', async (_, members) => {
    const reportWrites = vi.fn();
    const reply = await say({ text: 'Hello', reportWrites, ...members });
    expect(reply).not.toContain('Cancel 1');
    expect(reportWrites).toHaveBeenCalled();
  });

  test('learns how to renew a sign-in that has expired', async () => {
    expect(await say({ text: 'Who am I?', sign_in_expired: true, tools: [signInNeeded()] })).toMatch(
      /^Your sign-in has expired\. To renew it, sign in again where you signed in before;/,
    );
  });
});

test('the builtin agent says that it cannot answer any other message, and calls no tool', async () => {
  const tool = found(ALICE);
  const reply = await say({ text: 'What is the weather like?', person, tools: [tool] });
  expect(reply).toMatch(
    /^I can’t answer that, because I have no language model: I follow a few simple rules\./,
  );
  expect(tool.calls).toEqual([]);
});

test('a reply is streamed word by word, and together the words are the whole reply', async () => {
  const pieces = await piecesOf(builtin.run(agentTurn({ text: 'Who am I?', person, tools: [found(ALICE)] })));
  expect(pieces.length).toBeGreaterThan(20);
  for (const piece of pieces) expect(piece).toMatch(/^\S+\s*$/);
});

test('the values of a record cannot become links, code or HTML in the reply', async () => {
  const user = { name: '[x](javascript:1) <img src=x> `c`\n# title' };
  expect(await say({ text: 'bob@example.com', person, tools: [found(user)] })).toContain(
    '- **Name**: \\[x\\](javascript:1) \\<img src=x\\> \\`c\\` # title',
  );
});

test('an aborted run streams nothing', async () => {
  const signal = AbortSignal.abort(new Error('deadline'));
  await expect(say({ text: 'Hello', signal })).rejects.toThrow('deadline');
});

test('a message of the maximum length is read quickly, whatever it contains', async () => {
  for (const text of [
    'a'.repeat(16_000),
    'my '.repeat(5_333),
    'who '.repeat(4_000),
    `${'a@'.repeat(8_000)}`,
  ]) {
    const began = process.cpuUsage();
    await say({ text, tools: [found(ALICE)] });
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(1_000);
  }
});

test('a channel without Markdown gets a reply without markup, and text that looks like Markdown is kept', async () => {
  const channel = { name: 'telex', markdown: 'none' } as const;
  expect(await say({ text: 'help', channel })).not.toContain('**');
  const user = { ...ALICE, name: 'Alice *the* [first]', orders: [] };
  expect(
    await say({ text: 'Who am I?', person: { email: ALICE.email }, channel, tools: [found(user)] }),
  ).toBe(
    [
      'You are Alice *the* [first] (alice@example.com). This is what I found about you:',
      '',
      '- Id: user-1',
      '- Email: alice@example.com',
      '- Name: Alice *the* [first]',
      '- Phone: +15550100',
    ].join('\n'),
  );
});
