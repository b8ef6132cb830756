import { describe, expect, it } from 'vitest';
import type { RecordedRun } from '../../../src/daemon/agent/recording.ts';
import { caseOfRecording } from '../../../src/daemon/eval/case-of-recording.ts';
import { Placeholders } from '../../../src/daemon/eval/placeholders.ts';
import { readCases } from '../../../src/daemon/eval/read-cases.ts';
import type { Recording } from '../../../src/daemon/store/recordings.ts';
import { stringsIn } from '../../../src/daemon/syntax/json.ts';
import { aRecording } from '../../contract/fixtures.ts';
import { isThorough } from '../../support/effort.ts';

type Given = RecordedRun['given'];

function aRun(given: Partial<Given>, tool_calls: RecordedRun['tool_calls'] = []): RecordedRun {
  return {
    ...{
      version: 1,
      turn_id: 't',
      request_id: 'r',
      runtime: 'llm',
      tools: [],
      messages: [],
      model_calls: [],
    },
    agent_digest: '',
    ...{ said: '', reply: null, outcome: 'answered', warnings: [] },
    tool_calls,
    given: {
      ...{ text: 'Hello', history: [], summary: null, person: null, principal: null, state: null },
      ...{ sign_in_expired: false, claimed: {}, speaker: 'visitor', shared: false, app_name: 'agentd' },
      ...{
        channel: { name: 'webchat', markdown: 'commonmark' },
        confirmed_actions: [],
        waiting: [],
        already_done: [],
      },
      ...{ memories: [], started_at: 0 },
      ...given,
    },
  };
}

/** Its ids are always the same: no placeholder is a number that occurs in one of them. */
const recording = (members: Partial<Recording> = {}): Recording => ({
  ...aRecording({
    turn_id: '00000000-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
    request_id: '00000000-bbbb-4bbb-8bbb-bbbbbbbbbbbb',
    session_id: '00000000-cccc-4ccc-8ccc-cccccccccccc',
    ...members,
  }),
  recorded_at: 0,
});
const made = (run: RecordedRun, of: Recording = recording()) => caseOfRecording(of, run, new Set());
const read = (yaml: string) => {
  const { cases, problems } = readCases('made.yaml', yaml);
  expect(problems).toEqual([]);
  const [one] = cases;
  if (!one) throw new Error('there is no case');
  return one;
};

const ADA = {
  person: { email: 'ada@shop.example', name: 'Ada Lovelace', locale: 'en' },
  principal: { sub: 'user-77', tenant_id: 'acme', roles: ['gold'] },
};

describe('a case of a recording', () => {
  it('has the same placeholder throughout, in texts, arguments, results and names of members', () => {
    const result = {
      number: 1004,
      owner: 'ada@shop.example',
      note: 'Leave at Smith Street',
      'ada@shop.example': true,
    };
    const { yaml, left, replaced } = made(
      aRun(
        {
          ...ADA,
          text: 'I am ADA LOVELACE (ada@shop.example, user-77). Where is order 1004? Not at smith street!',
          history: [{ user: 'My order is 1004', speaker: 'U1', reply: 'Thanks, Ada.' }],
          memories: [{ text: 'Ada likes tea', date: '2030-01-31' }],
        },
        [{ tool: 'shop_getOrder', effect: 'read', args: { id: '1004' }, answer: { ok: true, result } }],
      ),
    );
    expect(left).toEqual([]);
    const one = read(yaml);
    expect(one).toMatchObject({
      as: {
        sub: 'CLAIM_D',
        email: 'claim-a@example.com',
        name: 'CLAIM_B',
        tenant_id: 'CLAIM_E',
        roles: ['CLAIM_F'],
      },
      turns: [
        { say: 'I am CLAIM_B (claim-a@example.com, CLAIM_D). Where is order 9999? Not at WORD_E WORD_F!' },
      ],
      before: [{ say: 'My order is 9999', reply: 'Thanks, WORD_A.' }],
      remembered: ['WORD_A likes tea'],
      recorded: [
        {
          args: { id: '9999' },
          answer: {
            result: {
              number: 9999,
              owner: 'claim-a@example.com',
              note: 'RESULT_A',
              'claim-a@example.com': true,
            },
          },
        },
      ],
    });
    expect(replaced).toContainEqual({ kind: 'number', value: '1004', placeholder: '9999' });
  });

  it('has no claim that the run was not told', () => {
    const run = aRun({ ...ADA, text: 'The order of Analytical Engines Ltd' }, []);
    const { yaml, left } = made({ ...run, claims: ['Analytical Engines Ltd', 'ada@shop.example'] });
    expect([yaml.includes('Analytical'), left]).toEqual([false, []]);
  });

  it('has no word of other people and of earlier results, and nothing that was said before sign-in', () => {
    const look = (result: string) => ({ tool: 'look', args: {}, answer: { ok: true as const, result } });
    const words = ['UCLARA', 'UDORA', 'UEMIL', 'turn-of-fritz', 'Kestrel', 'Osprey', 'Grace'];
    const given = {
      ...{ text: words.join(', '), speaker: 'UCLARA', claimed: { user_name: 'Grace' } },
      history: [
        { user: 'My code is hunter', speaker: 'U0X', reply: 'Thanks.', before_sign_in: true as const },
        { user: 'Which bird?', speaker: 'UDORA', reply: 'A bird.', calls: [look('Kestrel')] },
      ],
      confirmed_actions: [{ ...look('Osprey'), summary: 'Look' }],
    };
    const run = aRun(given as unknown as Partial<Given>);
    const { yaml, left } = made(run, recording({ users: ['UEMIL'], turns: ['turn-of-fritz'] }));
    expect(left).toEqual([]);
    expect([...words, 'hunter'].filter((word) => yaml.includes(word))).toEqual([]);
    expect(read(yaml).before).toMatchObject([{ say: 'Which bird?' }]);
  });

  it('replaces in one pass, the longest value first, so that no value of a placeholder is replaced again', () => {
    const results = ['Anna', 'Anna Bell', 'RESULT_A', 'text', '9999'];
    const { yaml, left } = made(
      aRun({ text: 'Anna Bell, Anna, RESULT_A, a text, 9999 and 1234' }, [
        { tool: 'look', effect: 'read', args: {}, answer: { ok: true, result: results } },
      ]),
    );
    expect(left).toEqual([]);
    const { say } = read(yaml).turns[0] ?? { say: '' };
    expect(say).not.toMatch(/Anna|Bell|text|9999|1234/);
    expect(say.split(', ')[0]).not.toBe(say.split(', ')[1]);
  });

  it('replaces dates and times by others, so that arguments still fit their schemas', () => {
    const at = '2027-05-03T19:30:00.250+01:00';
    const { yaml, left, replaced } = made(
      aRun({ text: 'Book Blue on 2027-05-03 at 19:30, not on 9999-12-31 at 23:59:00' }, [
        { tool: 'a', effect: 'read', args: { day: '2027-05-03', at }, answer: { ok: true, result: [at] } },
      ]),
    );
    expect(left).toEqual([]);
    const one = read(yaml);
    expect(one.turns[0]?.say).toBe('Book Blue on 9999-12-30 at 23:58, not on 9999-12-29 at 23:56:00');
    expect(JSON.stringify(one)).toContain('9999-12-30T23:58:00.999+23:57');
    expect(replaced).toContainEqual({ kind: 'date', value: '2027-05-03', placeholder: '9999-12-30' });
    expect(replaced).toContainEqual({ kind: 'time', value: '19:30', placeholder: '23:58' });
  });

  it('replaces numbers in the digits of every script', () => {
    const text = 'رقمي ٠٥٠١٢٣٤٥٦٧, मेरा ९८७६५४३२१०, 0501234567';
    const { yaml, left } = made(aRun({ text }));
    expect(left).toEqual([]);
    for (const number of ['٠٥٠١٢٣٤٥٦٧', '९८७६५४३२१०', '0501234567']) expect(yaml).not.toContain(number);
    // In other digits, this number would be infinite.
    const huge = {
      tool: 'a',
      effect: 'read' as const,
      args: {},
      answer: { ok: true as const, result: 1e300 },
    };
    expect(read(made(aRun({}, [huge])).yaml).recorded).toMatchObject([{ answer: { result: 0 } }]);
  });

  it('replaces a name however its accents are written', () => {
    const person = { email: 'z@shop.example', name: 'Zoë Müller' };
    const { yaml, left } = made(aRun({ person, text: 'I am Zoë Müller.'.normalize('NFD') }));
    expect(left).toEqual([]);
    expect(yaml.normalize()).not.toMatch(/Zoë|Müller/);
  });

  it('leaves out results that ask the person, and says what else it does not have', () => {
    const { yaml, notes } = made(
      aRun({ summary: 'They spoke.', shared: true }, [
        {
          ...{ tool: 'cancel', effect: 'write', args: {} },
          answer: { ok: true, result: { waits_for_confirmation: true, message: 'x' } },
        },
      ]),
    );
    expect(read(yaml)).toMatchObject({ recorded: [], turns: [{ expect: { calls: [{ tool: 'cancel' }] } }] });
    expect(notes).toHaveLength(2);
  });

  it('has a name that no other case has', () => {
    const first = made(aRun({}));
    expect(caseOfRecording(recording(), aRun({}), new Set([first.name])).name).not.toBe(first.name);
  });
});

it('a value that is left is found', () => {
  const placeholders = new Placeholders();
  placeholders.claim('ada@example.com');
  placeholders.id('U0ADA');
  placeholders.result({ status: 'shipped' });
  for (const text of ['u0ada', 'x ADA@example.com', 'shipped!', 'other@mail.example', 'no. 12'])
    expect(placeholders.left({ text }), text).toHaveLength(1);
  expect(placeholders.left({ text: placeholders.replaced('U0ADA shipped ada@example.com 12') })).toEqual([]);
});

describe('recordings with canaries', () => {
  const count = isThorough ? 1000 : 30;

  it(`leave none in ${count} cases`, () => {
    for (let seed = 1; seed <= count; seed++) {
      const { run, of, canaries, numbers } = generated(seed);
      const { yaml, left } = made(run, of);
      expect(left, `seed ${seed}`).toEqual([]);
      const lower = stringsIn(read(yaml)).concat(yaml).join('\n').toLowerCase();
      const found = canaries.filter((canary) => lower.includes(canary.toLowerCase()));
      const digits = new Set(yaml.match(/\d+/g) ?? []);
      expect([...found, ...numbers.filter((number) => digits.has(number))], `seed ${seed}`).toEqual([]);
    }
  });
});

/** A recording whose values are random, and are quoted in its texts in several forms. */
function generated(seed: number) {
  let state = seed * 2_654_435_761;
  const random = (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return (state >>> 8) % below;
  };
  const pick = <T>(list: readonly T[]) => list[random(list.length)] as T;
  const letters = (length: number) =>
    Array.from({ length }, () => pick([...'abcdefghijklmnopqrstuvwxyzäöüßéñ'])).join('');
  const canaries: string[] = [];
  const numbers: string[] = [];
  const noted = (text: string) => {
    canaries.push(text);
    return text;
  };
  const word = () =>
    noted(pick([(w: string) => w, (w: string) => w.toUpperCase(), capital])(letters(4 + random(8))));
  const phrase = () =>
    noted(
      Array.from({ length: 1 + random(4) }, () => letters(4 + random(6))).join(
        pick([' ', '-', ', ', '/', '.*', '$1', '\\']),
      ),
    );
  const email = () => noted(`${letters(5)}.${letters(3)}@${letters(6)}.example`);
  const number = () => {
    const digits = String(10 ** (3 + random(6)) + random(899_999));
    numbers.push(digits);
    return digits;
  };
  const id = () => noted(`${pick(['U', 'C', '+', 'msg-'])}${letters(6)}${pick(['', '_', ':'])}${letters(4)}`);
  const value = (depth: number): unknown => {
    const kind = random(depth > 2 ? 5 : 7);
    if (kind === 0) return Number(number());
    if (kind === 1) return email();
    if (kind === 2) return `${phrase()} ${number()}`;
    if (kind === 3) return word();
    if (kind === 4) return pick([true, null, 'ok', phrase()]);
    if (kind === 5) return Array.from({ length: random(4) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: random(4) }, () => [letters(3), value(depth + 1)]));
  };
  const person = {
    email: email(),
    name: `${word()} ${word()}`,
    locale: pick(['de', 'en-GB']),
    timezone: phrase(),
  };
  const principal = { sub: pick([id(), number()]), tenant_id: word(), roles: [word()] };
  const tool_calls = Array.from({ length: 1 + random(3) }, () => ({
    ...{ tool: 'look', effect: 'read' as const, args: { id: number(), mail: email() } },
    answer:
      random(5) === 0 ? { ok: false as const, message: phrase() } : { ok: true as const, result: value(0) },
  }));
  const values = [...stringsIn([person, principal, tool_calls]), ...numbers];
  const quote = () =>
    Array.from({ length: 3 }, () =>
      pick(['so', 'ok:', '"', '(']).concat(
        ' ',
        pick([(v: string) => v, (v: string) => v.toUpperCase(), (v: string) => v.toLowerCase()])(
          pick(values),
        ),
        pick([' ', '.', '!', '")']),
      ),
    ).join('');
  const users = [id(), id()];
  const of = recording({ message_id: id(), session_id: id(), users, turn_id: id() });
  const run = aRun(
    {
      ...{
        person,
        principal,
        claimed: { user_name: word(), other: { plan: phrase() } },
        speaker: users[0] ?? '',
      },
      text: `${quote()} ${users[1]} ${email()}`,
      history: [
        { user: quote(), speaker: users[1] ?? '', reply: `${quote()} ${of.message_id} ${of.session_id}` },
      ],
      memories: [{ text: `${quote()} ${of.turn_id}`, date: '2030-01-31' }],
    },
    tool_calls,
  );
  return { run, of, canaries, numbers };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
