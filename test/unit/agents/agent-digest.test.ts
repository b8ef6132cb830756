import { expect, it } from 'vitest';
import { agentDigest, type DigestedParts } from '../../../src/daemon/agents/agents.ts';
import { digestRecord } from '../../../src/daemon/tools/definition-digest.ts';
import { describeSource } from '../../../src/daemon/tools/describe-source.ts';
import type { SourceEntry } from '../../../src/daemon/tools/source-entry.ts';
import type { Tool } from '../../../src/daemon/tools/tool.ts';
import { llmSettings } from '../../support/llm-settings.ts';

const settings = { ...llmSettings({ AGENT_MODEL: 'small' }), AGENT_RUNTIME: undefined };
const of = (changes: Partial<DigestedParts> = {}) =>
  agentDigest({ settings, instructions: 'Be brief.', tools: ['one', 'two'], ...changes });

it('the digest of an agent changes with its instructions, its tools and its model, and with nothing else', () => {
  expect(of()).toMatch(/^[0-9a-f]{12}$/);
  expect(of({ tools: ['two', 'one'] })).toBe(of());
  expect(of({ settings: { ...settings, PORT: 1 } as DigestedParts['settings'] })).toBe(of());
  const others = [
    of({ instructions: 'Be long.' }),
    of({ instructions: undefined }),
    of({ tools: ['one'] }),
    of({ settings: { ...settings, AGENT_MODEL: 'large' } }),
    of({ settings: { ...settings, AGENT_TEMPERATURE: 0.5 } }),
    of({ settings: { ...settings, AGENT_RUNTIME: 'builtin' } }),
  ];
  expect(new Set([of(), ...others]).size).toBe(others.length + 1);
});

it('the digest of a tool changes with its policy and with where its calls go, and contains no secret', () => {
  const entry = (changes: object = {}) =>
    ({
      kind: 'openapi',
      name: 'shop',
      base_url: 'https://shop.example',
      operations: {},
      headers: { 'X-Key': 'secret' },
      ...changes,
    }) as unknown as SourceEntry;
  const source = describeSource(entry(), undefined);
  const tool = (changes: Partial<Tool> = {}): Tool => ({
    name: 'shop_cancel',
    title: null,
    description: 'Cancels an order.',
    parameters: { type: 'object' },
    source,
    effect: 'write',
    credentials: 'user',
    confirm: 'always',
    summary: null,
    public: [],
    bind: {},
    hide: [],
    idempotent: false,
    send: () => Promise.reject(new Error('not called')),
    ...changes,
  });
  const original = digestRecord(tool());
  expect(digestRecord(tool())).toBe(original);
  const rotated = describeSource(entry({ headers: { 'X-Key': 'other' } }), undefined);
  expect(digestRecord(tool({ source: rotated }))).toBe(original);
  const moved = describeSource(entry({ base_url: 'https://other.example' }), undefined);
  const others = [
    tool({ source: moved }),
    tool({ confirm: 'never' }),
    tool({ credentials: 'default' }),
    tool({ bind: { customer: 'sub' } }),
    tool({ public: 'all' }),
    tool({ description: 'Cancels.' }),
    tool({ parameters: { type: 'object', required: ['id'] } }),
  ].map(digestRecord);
  expect(new Set([original, ...others]).size).toBe(others.length + 1);
});
