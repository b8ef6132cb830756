import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { command, lineDiff } from '../../../src/cli/commands/tools-trust.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import type { ServerDefinition } from '../../../src/daemon/store/tool-digests.ts';
import { seededRandom } from '../../support/random.ts';
import { openAt } from '../store/state-directory.ts';
import { capturedOutput, exitCodeOf } from './captured-output.ts';
import { stubState } from './stub-settings.ts';

const BEFORE: ServerDefinition = {
  digest: 'aaaa',
  title: 'Search',
  description: 'Finds documents.\nBy words.',
  schema: '{"type":"object","properties":{"query":{"type":"string"}}}',
};
const AFTER: ServerDefinition = {
  digest: 'bbbb',
  title: 'Search',
  description: 'Finds documents.\nBy \u001b[2Jwords, of everybody.',
  schema: '{"type":"object","properties":{"query":{"type":"string"},"person":{"type":"string"}}}',
};

describe('agentd tools trust, while a daemon runs,', () => {
  let store: Store;

  beforeEach(async () => {
    store = openAt(join(stubState(), 'agentd.db'));
    await store.toolDigests.observe('docs_search', 'docs', BEFORE);
  });
  async function trust(name: string, options: { json?: boolean } = {}): Promise<string> {
    const { out, stdout } = capturedOutput(options);
    expect(await exitCodeOf(command, { args: [name], options: {}, out })).toBe(0);
    return stdout.text;
  }

  it('shows the changes line by line without control characters, and accepts them', async () => {
    await store.toolDigests.observe('docs_search', 'docs', AFTER);
    expect(await trust('docs_search')).toBe(
      [
        'docs_search of docs is trusted.',
        '  old digest: aaaa',
        '  new digest: bbbb',
        'description:',
        '    Finds documents.',
        '  - By words.',
        '  + By \u{fffd}[2Jwords, of everybody.',
        'schema:',
        '    {',
        '      "type": "object",',
        '      "properties": {',
        '        "query": {',
        '          "type": "string"',
        '  +     },',
        '  +     "person": {',
        '  +       "type": "string"',
        '        }',
        '      }',
        '    }',
        '',
      ].join('\n'),
    );
    expect(await store.toolDigests.find('docs_search')).toMatchObject({ trusted: AFTER, changed: null });
  });

  it('prints the old and the new definition as JSON', async () => {
    await store.toolDigests.observe('docs_search', 'docs', AFTER);
    expect(JSON.parse(await trust('docs_search', { json: true }))).toMatchObject({
      name: 'docs_search',
      source: 'docs',
      changed: true,
      before: { digest: 'aaaa', title: 'Search', schema: JSON.parse(BEFORE.schema) },
      trusted: { digest: 'bbbb', description: AFTER.description },
    });
  });

  it('does nothing for a tool that has not changed', async () => {
    // The command reads the sources of tools, in case a server changed its tools while no daemon was running.
    vi.stubEnv('JWT_ALGORITHM', 'HS256');
    vi.stubEnv('JWT_SECRET_KEY', 'a secret of more than thirty-two bytes');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await trust('docs_search')).toBe('docs_search has not changed. Its digest is aaaa.\n');
    expect(JSON.parse(await trust('docs_search', { json: true }))).toMatchObject({ changed: false });
  });

  it('exits with 1 for a tool that no server has listed', async () => {
    const { out } = capturedOutput();
    await expect(command.run({ args: ['docs_\u001b[2J'], options: {}, out })).rejects.toMatchObject({
      exitCode: 1,
      message: 'no MCP server has listed a tool with the name docs_\u{fffd}[2J',
    });
  });
});

it.each([
  ['a', 'a', ['  a']],
  ['a', 'b', ['- a', '+ b']],
  ['a\nb\nc', 'a\nc', ['  a', '- b', '  c']],
  ['a\nc', 'a\nb\nc', ['  a', '+ b', '  c']],
  ['a\na', 'a', ['  a', '- a']],
])('lineDiff compares the lines of %j and %j', (before, after, lines) => {
  expect(lineDiff(before, after)).toEqual(lines);
});

it('the lines of lineDiff contain both texts completely, and common lines only once', () => {
  const { below, pick } = seededRandom(3);
  const text = () => Array.from({ length: 1 + below(12) }, () => pick(['a', 'b', 'c', ''])).join('\n');
  for (let run = 0; run < 300; run++) {
    const [before, after] = [text(), text()];
    const lines = lineDiff(before, after);
    const without = (sign: string) =>
      lines
        .filter((line) => !line.startsWith(sign))
        .map((line) => line.slice(2))
        .join('\n');
    expect([without('+'), without('-')]).toEqual([before, after]);
  }
});

it('lineDiff shows all old lines and then all new lines if there are too many lines to compare', () => {
  const [before, after] = ['a', 'b'].map((line) => Array(1_500).fill(line).join('\n')) as [string, string];
  expect(lineDiff(before, after)).toHaveLength(3_000);
});
