import { describe, expect, it } from 'vitest';
import { asksForAnswer, scriptOf } from '../../../../src/cli/simulate/script.ts';

const script = (options: Record<string, unknown> = {}, text: string | null = 'Hi', hasGroups = true) =>
  scriptOf(text, { repeat: '1', burst: '1', ...options }, { someone: 'ada', hasGroups });
const numbers = (options: Record<string, unknown>) =>
  script(options).map((volley) => volley.map(({ number }) => number));

describe('what agentd simulate sends', () => {
  it('is one message, by whoever the platform has', () => {
    expect(script()).toMatchObject([[{ kind: 'message', user: 'ada', text: 'Hi', place: 'direct' }]]);
    expect(script({ user: 'bob', name: 'Bob', group: true, thread: 't', badSignature: true })).toMatchObject([
      [{ user: 'bob', user_name: 'Bob', place: 'group', thread: 't', bad_signature: true }],
    ]);
  });

  it('is no message to a group if the platform has none', () => {
    expect(() => script({ group: true }, 'Hi', false)).toThrow('the platform of this channel has no groups');
    expect(script({}, 'Hi', false)).toMatchObject([[{ place: 'direct' }]]);
  });

  it('has numbers that no earlier call had', () => {
    const seen = new Set(Array.from({ length: 100 }, () => numbers({})[0]?.[0]));
    expect(seen.size).toBe(100);
  });

  it('repeats one after the other, bursts at once, with different texts', () => {
    const repeated = numbers({ repeat: '3' });
    expect(repeated.map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(new Set(repeated.flat()).size).toBe(3);
    const [burst = [], ...rest] = script({ burst: '3' });
    expect(burst.map(({ text }) => text)).toEqual(['Hi (1)', 'Hi (2)', 'Hi (3)']);
    expect(rest).toEqual([]);
  });

  it('delivers the same message twice, and edits the first', () => {
    const [[first] = [], [second] = []] = script({ duplicate: true });
    expect(second).toBe(first);
    const [[message] = [], [edit] = []] = script({ edit: 'Ho' });
    expect(edit).toMatchObject({ kind: 'edit', text: 'Ho', number: message?.number });
  });

  it('asks for an answer with a message and a command that are signed', () => {
    const asks = (options: Record<string, unknown>) => script(options).flat().map(asksForAnswer);
    expect([asks({}), asks({ command: true })]).toEqual([[true], [true]]);
    expect([asks({ kind: 'other' }), asks({ badSignature: true })]).toEqual([[false], [false]]);
    expect(asks({ edit: 'Ho' })).toEqual([true, false]);
  });

  it.each<[Record<string, unknown>, string | null, string]>([
    [{}, null, 'no text was given'],
    [{ repeat: '0' }, 'Hi', '--repeat takes a whole number from 1 to 100'],
    [{ burst: '1001' }, 'Hi', '--burst takes a whole number from 1 to 1000'],
    [{ kind: 'poem' }, 'Hi', "not 'poem'"],
    [{ command: true, kind: 'other' }, 'Hi', '--command and --kind other contradict each other'],
    [{ command: true, edit: 'Ho' }, 'Hi', '--edit changes a message'],
  ])('refuses %o with %s', (options, text, words) => {
    expect(() => script(options, text)).toThrow(words);
  });

  it('needs no text where none is written', () => {
    expect(script({ kind: 'status' }, null)).toMatchObject([[{ kind: 'status', text: '' }]]);
  });
});
