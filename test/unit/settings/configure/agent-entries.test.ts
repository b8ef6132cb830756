import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ONLY_AGENT } from '../../../../src/daemon/agents/agent-entry.ts';
import { inspectConfiguration } from '../../../../src/daemon/settings/configure/configure.ts';
import { placeWith, VALID } from '../place.ts';

async function agentsOf(yaml: string) {
  const place = placeWith(VALID, { 'agentd.yaml': yaml });
  const { agents, problems } = await inspectConfiguration(place);
  return {
    agents,
    problems: problems.map(({ setting, problem }) => `${setting} ${problem}`),
    cwd: place.cwd,
  };
}

it('without the key there is one agent, which answers everything with all tools', async () => {
  expect(await agentsOf('PORT: 1')).toMatchObject({ agents: [ONLY_AGENT], problems: [] });
});

it('agents are read with their conditions; a text counts as a list of one', async () => {
  const { agents, problems, cwd } = await agentsOf(`
agents:
  - name: german
    instructions: ./german.md
    tools: [get_user]
    model: large
    memory: false
    when: { channel: webchat, locale: [de, nl] }
  - name: next
    instructions: Be brief.
    canary: { percent: 2.5 }
  - name: rest
`);
  expect(problems).toEqual([]);
  expect(agents).toMatchObject([
    {
      ...{ name: 'german', instructions: join(cwd, 'german.md'), model: 'large', memory: false },
      tools: [{ name: 'get_user', location: { setting: 'agents[0].tools[0]' } }],
      when: { channel: ['webchat'], locale: ['de', 'nl'] },
      canary_percent: null,
    },
    { name: 'next', instructions: 'Be brief.', memory: true, when: null, canary_percent: 2.5 },
    { name: 'rest', when: null, canary_percent: null },
  ]);
});

it('the channels of a condition may be named by their titles in lower case', async () => {
  const { agents, problems } = await agentsOf(
    'agents: [{ name: a, when: { channel: [slack, website, sse] } }, { name: b }]',
  );
  expect(problems).toEqual([]);
  expect(agents[0]?.when).toEqual({ channel: ['teamchat', 'webchat', 'sse'] });
});

it.each([
  ['agents: []', 'agents is empty'],
  ['agents: { name: a }', 'agents is not a list'],
  [
    'agents: [{ name: a, when: { locale: de } }]',
    'agents[0] is the last agent, but does not answer every message',
  ],
  [
    'agents: [{ name: a }, { name: b }]',
    'agents[0] answers every message, so the agents after it never answer',
  ],
  [
    'agents: [{ name: a, canary: { percent: 5 } }]',
    'agents[0] is the last agent, but does not answer every message',
  ],
  [
    'agents: [{ name: a, when: { locale: de } }, { name: a }]',
    'agents[1].name is also the name of agents[0]',
  ],
  ['agents: [{ instructions: x }]', 'agents[0].name is not set'],
  ['agents: [{}]', 'agents[0].name is not set'],
  ['agents: [{ name: "a b" }]', 'agents[0].name is not a name'],
  ['agents: [{ name: a, modell: x }]', 'agents[0].modell is not a known key'],
  ['agents: [{ name: a, memory: 1 }]', 'agents[0].memory is not a boolean'],
  ['agents: [{ name: a, when: {} }, { name: b }]', 'agents[0].when names no condition'],
  ['agents: [{ name: a, when: { locale: [] } }, { name: b }]', 'agents[0].when.locale is empty'],
  [
    'agents: [{ name: a, when: { channel: slak } }, { name: b }]',
    'agents[0].when.channel is not the name of a channel',
  ],
  [
    'agents: [{ name: a, when: { channel: [msgbot, msgbt] } }, { name: b }]',
    'agents[0].when.channel[1] is not the name of a channel',
  ],
  [
    'agents: [{ name: a, canary: { percent: 101 } }, { name: b }]',
    'agents[0].canary.percent is not a number from 0 to 100',
  ],
  ['agents: [{ name: a, canary: 10 }, { name: b }]', 'agents[0].canary is not an object'],
])('%s is a problem', async (yaml, problem) => {
  expect((await agentsOf(yaml)).problems).toContain(problem);
});

it.each(['when: de', 'when: [de]', 'canary: 10'])('%s is reported once', async (line) => {
  const { problems } = await agentsOf(`agents: [{ name: a, ${line} }, { name: b }]`);
  expect(problems).toEqual([`agents[0].${line.split(':')[0]} is not an object`]);
});
