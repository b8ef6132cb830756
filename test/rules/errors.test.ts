import { describe, expect, it } from 'vitest';
import { ADVICE, adviceFor } from '../../src/cli/advice/advice.ts';
import { ERRORS } from '../../src/daemon/errors.ts';
import { TOKEN_REASONS } from '../../src/daemon/identity/identity.ts';
import { read, sourcesBelow } from './source-files.ts';

const codes = Object.keys(ERRORS);
const sources = [...sourcesBelow('src'), ...sourcesBelow('plugins')].filter(
  (file) => file !== 'src/daemon/errors.ts',
);

/** All words that match the pattern, in order. */
function wordsOf(files: readonly string[], pattern: RegExp): string[] {
  return files.flatMap((file) => [...read(file).matchAll(pattern)].map(([, word = '']) => word));
}

function wordsIn(files: readonly string[], pattern: RegExp): string[] {
  return [...new Set(wordsOf(files, pattern))];
}

describe('error codes', () => {
  it('are all listed in agentd-errors(7) with their status, and no other codes are listed', () => {
    const documented = [...read('man/agentd-errors.7.md').matchAll(/^- `(\w+)` \((\d+)\): /gm)];
    expect(documented.map(([, code, status]) => [code, Number(status)])).toEqual(
      Object.entries(ERRORS).map(([code, { status }]) => [code, status]),
    );
  });

  it('include every code that the sources throw', () => {
    const thrown = wordsIn(sources, /(?:new AgentdError|\bproblem)\(\s*'([a-z_]+)'/g);
    expect(thrown.filter((code) => !codes.includes(code))).toEqual([]);
  });

  it('are all used', () => {
    const unused = codes.filter(
      (code) => !sources.some((file) => !file.startsWith('src/cli/') && read(file).includes(`'${code}'`)),
    );
    expect(unused).toEqual([]);
  });
});

describe('advice', () => {
  it('exists for every reason why a token is invalid', () => {
    for (const reason of TOKEN_REASONS) expect(ADVICE[reason]?.todo, reason).toMatch(/\S/);
  });

  it('exists for every reason that a step, a call or a tool records in a trace', () => {
    const traced = sources.filter((file) =>
      /^src\/daemon\/(message|downstream|agent|tools|confirmation|journal)\//.test(file),
    );
    const reasons = wordsIn(
      traced,
      /(?:\b(?:reason|because)(?::| \?\?=| =)|\b(?:byDefault|failed|refusal|refused|signInNeeded)\(|new \w+Failure\()\s*'(\w+)'(?! in )/g,
    );
    expect(reasons.length).toBeGreaterThan(20);
    expect(reasons.filter((reason) => adviceFor(reason) === undefined)).toEqual([]);
  });

  it('exists once for each reason', () => {
    const keys = wordsOf(sourcesBelow('src/cli/advice'), /^ {2}'?([\w ]+?)'?: \{/gm);
    expect(keys.length).toBeGreaterThan(100);
    expect(keys.filter((key, place) => keys.indexOf(key) !== place)).toEqual([]);
    expect(keys.sort()).toEqual(Object.keys(ADVICE).sort());
  });

  it('consists of sentences', () => {
    for (const [reason, { happened, todo, todo_of_source }] of Object.entries(ADVICE)) {
      expect(happened, reason).toMatch(/^[A-Z].*\.$/);
      for (const advice of [todo, todo_of_source])
        if (advice !== undefined) expect(advice, reason).toMatch(/^[A-Z].*[.?]$/);
    }
  });

  it('names the source to which a request went, instead of the business API', () => {
    const ofSources = Object.keys(ADVICE).filter((reason) => ADVICE[reason]?.todo_of_source !== undefined);
    expect(ofSources).toContain('redirect_refused');
    for (const reason of ofSources) {
      const { happened, todo } = adviceFor(reason, 'crm') ?? {};
      expect(happened, reason).toContain('system of `crm`');
      expect(`${happened} ${todo}`, reason).not.toMatch(/business API|\{source\}/);
    }
  });
});
