import { describe, expect, it } from 'vitest';
import { inspectConfiguration } from '../../src/daemon/settings/configure/configure.ts';
import { placeWith, VALID } from '../unit/settings/place.ts';
import { read } from './source-files.ts';

/** The keys that an entry, or one of its tools, can have: the daemon names them if a key is unknown. */
async function knownKeys(entry: string): Promise<string[]> {
  const file = { 'agentd.yaml': `tools:\n  - ${entry}\n` };
  const { problems } = await inspectConfiguration(placeWith(VALID, file));
  const { right = '' } = problems.find(({ problem }) => problem === 'is not a known key') ?? {};
  return /one of (.*)/.exec(right)?.[1]?.split(', ') ?? [];
}

/** What agentd-settings(5) says about the entries that have this key. */
function described(kind: string): string {
  const [, page = ''] = read('man/agentd-settings.5.md').split('\n## Tools\n');
  return page.split('\n').find((line) => line.startsWith(`- \`${kind}\``)) ?? '';
}

describe('agentd-settings(5) names every key of', () => {
  it.each([
    ['openapi', '{ openapi: ./a.yaml, name: a, operations: { x: {} }, unknown_key: 1 }'],
    ['openapi', '{ openapi: ./a.yaml, name: a, operations: { x: { unknown_key: 1 } } }'],
    ['mcp', '{ mcp: "https://a.example", name: a, tools: { x: {} }, unknown_key: 1 }'],
    ['mcp', '{ mcp: "https://a.example", name: a, tools: { x: { unknown_key: 1 } } }'],
    ['command', '{ command: [a], name: a, tools: { x: {} }, unknown_key: 1 }'],
    ['module', '{ module: ./a.ts, unknown_key: 1 }'],
  ])('%s: %s', async (kind, entry) => {
    const keys = await knownKeys(entry);
    expect(keys).not.toEqual([]);
    const text = described(kind);
    expect(keys.filter((key) => !text.includes(`\`${key}\``))).toEqual([]);
  });
});
