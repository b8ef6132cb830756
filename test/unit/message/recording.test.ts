import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import { createLlm } from '../../../src/daemon/agent/llm/llm.ts';
import { openRecording, type RecordedRun } from '../../../src/daemon/agent/recording.ts';
import { knownSecrets } from '../../../src/daemon/settings/known-secrets.ts';
import { maskSecrets } from '../../../src/daemon/settings/mask-secrets.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { UNMARKED_MS } from '../../../src/daemon/store/recordings.ts';
import { fixedSource } from '../../../src/daemon/tools/registry.ts';
import { FakeModel } from '../../support/fake-model.ts';
import { llmSettings } from '../../support/llm-settings.ts';
import { collectLog } from '../../support/log-lines.ts';
import { type Said, type Sender, say } from '../../support/say.ts';
import { person, type StepWorld, stepWorld } from '../../support/step.ts';
import { token } from '../../support/tokens.ts';
import { sourceOf, toolOf } from '../../support/tools.ts';

const sealKey = Buffer.alloc(32, 7).toString('base64');
const API_PASSWORD = 'horse "battery" staple';
const ENV = { RECORD_RUNS: 'all', API_BASE_URL: 'http://127.0.0.1:9', API_EMAIL: 'a@b.c', API_PASSWORD };
const SOURCE = sourceOf({}, 'https://api.example.com');

let model: FakeModel;
beforeAll(async () => {
  model = await FakeModel.start();
});
afterAll(() => model.close());

/** @param found the result of the tool `look` */
async function world(
  found: unknown,
  { agent, env = {} }: { agent?: AgentRuntime; env?: Record<string, string> } = {},
): Promise<StepWorld> {
  const settings = llmSettings({
    AGENT_MODEL: 'large',
    AGENT_BASE_URL: model.url,
    AGENT_INSTRUCTIONS: `The password is ${API_PASSWORD}.`,
  });
  const look = toolOf({
    source: SOURCE,
    send: async () => ({ outcome: 'answered', status: 200, result: found }),
  });
  return stepWorld({
    agent: agent ?? (await createLlm(settings, collectLog().log)),
    env: { ...ENV, ...env },
    sealKey,
    tools: fixedSource(SOURCE, [look]),
  });
}

/** What is recorded of a turn, once everything that is stored in the background is stored. */
async function recorded({ services, store }: StepWorld, turn_id: string): Promise<RecordedRun | null> {
  await Promise.all(services.running);
  const found = await store.recordings.find(turn_id);
  return found && openRecording(services.seal, found);
}

async function sayTo(
  one: StepWorld,
  text: string,
  sender: Sender = {},
): Promise<Said & { run: RecordedRun }> {
  const said = await say(one, text, sender);
  const run = await recorded(one, said.turn_id);
  if (run === null) throw new Error('nothing was recorded');
  return { ...said, run };
}

const talker = (run: AgentRuntime['run']): AgentRuntime => ({ apiVersion: 1, run });

describe('the recording of a run', () => {
  it('has each prompt and answer, each call with its result, and what the run was given', async () => {
    const one = await world({ order: 7 });
    model.script([{ text: ['Hi.'] }]);
    await say(one, 'Hello', { sub: 'ada' });
    model.script([
      { tools: [{ name: 'look', args: {} }], usage: { prompt_tokens: 9, completion_tokens: 3 } },
      { text: ['It is ', 'order 7.'] },
    ]);
    const { run, turn_id } = await sayTo(one, 'Where is it?', { sub: 'ada' });
    expect(run).toMatchObject({
      ...{ version: 1, turn_id, runtime: 'builtin', outcome: 'answered', warnings: [] },
      ...{ said: 'It is order 7.', reply: 'It is order 7.' },
      agent_digest: one.services.agents.last.digest(),
      claims: ['ada', 'ada@example.com'],
      given: {
        ...{ text: 'Where is it?', memories: [], person: { email: 'ada@example.com' } },
        history: [{ user: 'Hello', reply: 'Hi.' }],
      },
      tool_calls: [{ tool: 'look', effect: 'read', args: {}, answer: { ok: true, result: { order: 7 } } }],
      model_calls: [
        {
          ...{ model: 'large', finish_reason: 'tool-calls', input_tokens: 9, output_tokens: 3 },
          tool_calls: [{ tool: 'look', args: '{}' }],
        },
        { output: 'It is order 7.', finish_reason: 'stop' },
      ],
    });
    expect(run.tools).toContainEqual({ name: 'look', effect: 'read' });
    const [first, second] = run.model_calls.map(({ prompt }) => prompt?.map((place) => run.messages[place]));
    expect(first).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant' },
      { role: 'user' },
    ]);
    expect(second?.slice(0, 4)).toEqual(first);
    expect(JSON.stringify(second?.slice(4))).toContain('order');
  });

  it('has no token and no secret of the settings, in no form, and is sealed', async () => {
    const jwt = await token({ sub: 'ada' });
    const basic = Buffer.from(`ada:${API_PASSWORD}`).toString('base64');
    const one = await world({
      echoed: `Bearer ${jwt}`,
      basic: `Basic ${basic}`,
      [`key ${API_PASSWORD}`]: JSON.stringify(API_PASSWORD),
    });
    model.script([{ tools: [{ name: 'look', args: {} }] }, { text: [`It is ${API_PASSWORD}.`] }]);
    const { run, turn_id } = await sayTo(one, `My token is ${jwt}`, { sub: 'ada' });
    const json = JSON.stringify(run);
    for (const part of [...jwt.split('.'), 'horse', 'battery']) expect(json).not.toContain(part);
    expect(json).not.toContain(basic.slice(8, 16));
    expect(json).toContain('The password is [secret].');
    const content = (await one.store.recordings.find(turn_id))?.content;
    expect(content).toMatch(/^sealed\.v1\./);
    expect(await openRecording(one.services.seal, { turn_id: 'other', content: content ?? '' })).toBeNull();
  });

  it('names the turns and people whose words it has, so that an erasure finds it', async () => {
    const one = await world(
      {},
      {
        agent: talker(async function* () {
          yield 'Hi.';
        }),
      },
    );
    const thread = { session_id: 'telex:1', platform: true, shared: true };
    const ada = await say(one, 'I am Ada', { ...thread, user_id: 'ua' });
    const bob = await say(one, 'And I am Bob', { ...thread, sub: 'bob', user_id: 'ub' });
    await Promise.all(one.services.running);
    expect(await one.store.recordings.find(bob.turn_id)).toMatchObject({
      turns: [bob.turn_id, ada.turn_id],
      users: ['ub', 'ua'],
      persons: [person('bob')],
    });
  });

  it('is kept for a day with `flagged`, unless the run failed or has a warning', async () => {
    let how: 'fine' | 'fails' | 'warns' = 'fine';
    const agent = talker(async function* ({ tools }) {
      if (how === 'fails') throw new Error('broken');
      if (how === 'warns') await tools.find(({ name }) => name === 'look')?.call({ no: 'such argument' });
      yield 'Hi.';
    });
    const one = await world({}, { agent, env: { RECORD_RUNS: 'flagged' } });
    const fine = await sayTo(one, 'Hello');
    how = 'warns';
    const warned = await sayTo(one, 'Hello');
    expect(warned.run.warnings).toEqual(['invalid_arguments']);
    how = 'fails';
    await expect(say(one, 'Hello')).rejects.toThrow();
    const [failed] = (await one.store.sessions.turns('s')).filter(({ outcome }) => outcome === 'failed');
    expect(await recorded(one, failed?.turn_id ?? '')).toMatchObject({
      outcome: 'agent_failed',
      reply: null,
    });
    one.clock.moveTo(one.clock.now() + UNMARKED_MS);
    expect(await recorded(one, fine.turn_id)).toBeNull();
    for (const turn_id of [warned.turn_id, failed?.turn_id ?? ''])
      expect(await recorded(one, turn_id)).not.toBeNull();
  });

  it('is not made with `off`', async () => {
    const agent = talker(async function* ({ meter }) {
      const call = await meter.begin({ model: 'm', prompt_tokens: 1 });
      yield String('content' in call);
    });
    const one = await world({}, { agent, env: { RECORD_RUNS: 'off' } });
    const { reply, turn_id } = await say(one, 'Hello');
    expect(reply).toBe('false');
    expect(await recorded(one, turn_id)).toBeNull();
  });

  it('is not made without a key, and the reply is sent all the same', async () => {
    const agent = talker(async function* () {
      yield 'Hi.';
    });
    const one = await stepWorld({ agent, env: ENV });
    const { turn_id } = await say(one, 'Hello');
    expect(await recorded(one, turn_id)).toBeNull();
    expect(one.lines).toContainEqual(
      expect.objectContaining({ msg: 'the recording of a run could not be stored' }),
    );
  });
});

describe('the known secrets', () => {
  it('are each key of a list and the password of an address, and are masked in each form', () => {
    const long = (letter: string) => letter.repeat(40);
    const values = [`${long('a')},${long('b')}`, 'postgres://u:p%40ssword@host/db', 'quoted "one"', 7];
    const secrets = knownSecrets(
      values.map((value) => (typeof value === 'string' ? new Secret(value) : value)),
    );
    const texts = secrets.map((secret) => secret.reveal());
    for (const text of [long('a'), long('b'), 'p@ssword', 'p%40ssword', 'quoted "one"'])
      expect(texts).toContain(text);
    const hex = Buffer.from('p@ssword').toString('hex');
    const inBase64 = Buffer.from('p@ssword!').toString('base64');
    for (const form of ['quoted \\"one\\"', 'quoted%20%22one%22', 'p&#64;ssword', hex, inBase64])
      expect(maskSecrets(`<${form}>`, secrets)).toMatch(/^<\[secret\]\w{0,2}>$/);
    expect(texts.map(({ length }) => length)).toEqual(
      texts.map(({ length }) => length).sort((a, b) => b - a),
    );
  });
});
