import { describe, expect, it } from 'vitest';
import { asksForAnswer, planBatches } from '../../../../src/cli/simulate/scenario.ts';

const plan = (options: Record<string, unknown> = {}, text: string | null = 'Hi', hasGroups = true) =>
  planBatches(text, { repeat: '1', burst: '1', ...options }, { sender: 'ada', hasGroups });
const numbers = (options: Record<string, unknown>) =>
  plan(options).map((batch) => batch.map(({ number }) => number));

describe('the batches of agentd simulate', () => {
  it('are a single message of a user by default', () => {
    expect(plan()).toMatchObject([[{ kind: 'message', user: 'ada', text: 'Hi', place: 'direct' }]]);
    expect(plan({ user: 'bob', name: 'Bob', group: true, thread: 't', badSignature: true })).toMatchObject([
      [{ user: 'bob', user_name: 'Bob', place: 'group', thread: 't', bad_signature: true }],
    ]);
  });

  it('contain no message to a group if the platform has no groups', () => {
    expect(() => plan({ group: true }, 'Hi', false)).toThrow('the platform of this channel has no groups');
    expect(plan({}, 'Hi', false)).toMatchObject([[{ place: 'direct' }]]);
  });

  it('contain numbers that no earlier call used', () => {
    const seen = new Set(Array.from({ length: 100 }, () => numbers({})[0]?.[0]));
    expect(seen.size).toBe(100);
  });

  it('contain one message each with --repeat, and one batch of different texts with --burst', () => {
    const repeated = numbers({ repeat: '3' });
    expect(repeated.map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(new Set(repeated.flat()).size).toBe(3);
    const [burst = [], ...rest] = plan({ burst: '3' });
    expect(burst.map(({ text }) => text)).toEqual(['Hi (1)', 'Hi (2)', 'Hi (3)']);
    expect(rest).toEqual([]);
  });

  it('contain the same message again with --duplicate, and its edit with --edit', () => {
    const [[first] = [], [second] = []] = plan({ duplicate: true });
    expect(second).toBe(first);
    const [[message] = [], [edit] = []] = plan({ edit: 'Ho' });
    expect(edit).toMatchObject({ kind: 'edit', text: 'Ho', number: message?.number });
  });

  it('expect an answer to each message or command that is signed correctly', () => {
    const asks = (options: Record<string, unknown>) => plan(options).flat().map(asksForAnswer);
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
  ])('cannot be made from %o and the text %s', (options, text, words) => {
    expect(() => plan(options, text)).toThrow(words);
  });

  it('need no text for a kind of event that has no text', () => {
    expect(plan({ kind: 'status' }, null)).toMatchObject([[{ kind: 'status', text: '' }]]);
  });
});
