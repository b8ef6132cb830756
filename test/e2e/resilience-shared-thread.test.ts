import { copyFileSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Agentd, SECRET, startAgentd } from '../support/daemon.ts';
import { effort } from '../support/effort.ts';
import { FakeApi } from '../support/fake-api.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { seededRandom } from '../support/random.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

vi.setConfig({ testTimeout: 180_000 });

/**
 * Three people write in one thread. Each message asks for a different e-mail address, so the requests to the API show
 * for which message each token was sent. The API answers with data of the person in the token, so each reply, and each
 * history that the agent gets, shows to whom its data belongs.
 */

/** The persons to whom each member may be linked. C is never linked, and no two members share a person. */
const PERSONS = { A: ['ada', 'grace'], B: ['bob', 'edsger'], C: [] } as const;
type Member = keyof typeof PERSONS;
const LINKED = ['A', 'B'] as const;

const MESSAGES = effort(400, 1000);
const ROUND = 20;

interface Message {
  number: number;
  member: Member;
  /**
   * The persons for whom the message may act: one, or two if the link changed while the message waited. Null stands for
   * no link.
   */
  allowed: Set<string | null>;
}

const textOf = (number: number) => `look up message${number}x@look.example`;
const numberOf = (text: string) => Number(/message(\d+)x/.exec(text)?.[1]);
const subsIn = (value: unknown) =>
  [...JSON.stringify(value).matchAll(/dataof(\w+?)x/g)].map(([, sub]) => sub);

let directory: string;
let exchange: FakeExchange;
let api: FakeApi;
let daemon: Agentd;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-thread-'));
  exchange = await FakeExchange.start();
  api = await FakeApi.start({
    secret: SECRET,
    find: ({ sub, query }) => ({ email: query.userEmail, data: `dataof${sub}x` }),
  });
  const agent = join(directory, 'looking-agent.ts');
  copyFileSync(resolve(import.meta.dirname, '../fixtures/looking-agent.ts'), agent);
  daemon = await startAgentd({
    directory,
    env: {
      ...exchange.env(directory),
      AGENT_RUNTIME: agent,
      API_BASE_URL: api.url,
      API_EMAIL: 'service@example.com',
      API_PASSWORD: 'service-password',
    },
  });
});

afterEach(async () => {
  await daemon.stop('SIGKILL');
  await Promise.all([exchange.close(), api.close()]);
  await rm(directory, { recursive: true, force: true });
});

it('the daemon serves each message of a shared thread for its sender or without sign-in, and gives nobody the answers of somebody else', async () => {
  const random = seededRandom(20_261_121);
  const links: Record<Member, string | null> = { A: null, B: null, C: null };
  const deliver = async (body: object) => {
    const answer = await post(daemon.url, body, { path: '/telex' });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const change = async (member: (typeof LINKED)[number]) => {
    const person = random.pick([...PERSONS[member], null]);
    if (person === null) await deliver({ unlink: { user: member } });
    else {
      const linked = await deliver({ link: { user: member, token: await token({ sub: person }) } });
      expect(linked).toMatchObject({ linked: true, user_id: person });
    }
    links[member] = person;
  };

  const messages: Message[] = [];
  while (messages.length < MESSAGES) {
    if (random.chance(0.7)) await change(random.pick(LINKED));
    const before = { ...links };
    const round = Array.from({ length: ROUND }, (_, index): Message => {
      const member = random.pick(Object.keys(PERSONS) as Member[]);
      return { number: messages.length + index, member, allowed: new Set([before[member]]) };
    });
    messages.push(...round);
    await deliver({
      messages: round.map(({ number, member }) => ({
        id: `m${number}`,
        user: member,
        thread: 'all',
        shared: true,
        text: textOf(number),
      })),
    });
    if (random.chance(0.5)) {
      const answered = messages.length - ROUND + random.below(ROUND);
      await exchange.until(() => exchange.taken.length >= answered);
      const member = random.pick(LINKED);
      await change(member);
      for (const message of round) if (message.member === member) message.allowed.add(links[member]);
    }
    await exchange.until(() => exchange.taken.length >= messages.length);
  }

  const runs = new Map(exchange.runs.map((run) => [numberOf(run.text), run]));
  const actedFor = (number: number) => runs.get(number)?.person?.email.split('@')[0] ?? null;
  const calls = Map.groupBy(api.seen('/users'), ({ query }) => numberOf(query.userEmail ?? ''));
  const replies = new Map(exchange.taken.map(({ text }) => [numberOf(text), text]));
  const wrong: string[] = [];
  let ownWordsSeen = 0;
  for (const { number, member, allowed } of messages) {
    const say = (what: string) => wrong.push(`message ${number} of ${member} ${what}`);
    const person = actedFor(number);
    const run = runs.get(number);
    if (run?.speaker !== member) say(`was given to the agent as a message of ${run?.speaker}`);
    if (!allowed.has(person)) say(`acted for ${person}`);
    const bearers = (calls.get(number) ?? []).map(({ sub }) => sub);
    if (bearers.length !== 1 || bearers[0] !== (person ?? 'service'))
      say(`acted for ${person}, with the tokens of: ${bearers}`);
    const shown = subsIn(replies.get(number));
    if (shown.length !== (person === null ? 0 : 1) || shown.some((sub) => sub !== person))
      say(`was answered with data of ${shown}`);
    for (const past of run?.history ?? []) {
      const other = numberOf(past.user);
      const whose = actedFor(other);
      if (whose !== null && whose !== person) say(`got message ${other} of ${whose} in its history`);
      if (past.speaker !== messages[other]?.member)
        say(`got message ${other} in its history as a message of ${past.speaker}`);
    }
    const inHistory = subsIn(run?.history ?? []);
    if (inHistory.some((sub) => sub !== person)) say(`got data of ${inHistory} in its history`);
    if (inHistory.length > 0) ownWordsSeen++;
  }
  expect(wrong).toEqual([]);
  expect([runs.size, replies.size, calls.size]).toEqual([MESSAGES, MESSAGES, MESSAGES]);
  // The checks above would also pass without any data, so the test also checks that all persons wrote and got their
  // history.
  const persons = new Set(messages.map(({ number }) => actedFor(number)));
  expect([...persons].sort()).toEqual(['ada', 'bob', 'edsger', 'grace', null].sort());
  expect(messages.filter(({ number }) => actedFor(number) === null).length).toBeGreaterThan(MESSAGES / 4);
  expect(ownWordsSeen).toBeGreaterThan(MESSAGES / 10);
  expect(messages.filter(({ allowed }) => allowed.size > 1).length).toBeGreaterThan(MESSAGES / 50);
});
