import { describe, expect, it } from 'vitest';
import type { ConfirmRule } from '../../../../src/agent/index.ts';
import {
  confirmInWords,
  holds,
  readConfirmPolicy,
  unknownArguments,
} from '../../../../src/daemon/tools/confirmation/confirm-policy.ts';

const when = (...rules: ConfirmRule[]) => ({ when: rules });
const OVER = { argument: 'body.amount', over: 100 };
const UNDER = { argument: 'stock', under: 5 };
const IN = { argument: 'country', in: ['RU', 'KP'] };
const NOT_IN = { argument: 'country', not_in: ['DE', 'AT'] };
const PRESENT = { argument: 'note', present: true } as const;

describe('a condition', () => {
  it.each([
    [OVER, { body: { amount: 100 } }, false],
    [OVER, { body: { amount: 100.01 } }, true],
    [OVER, { body: { amount: '5' } }, true],
    [OVER, { body: { amount: null } }, true],
    [OVER, { body: { amount: [5] } }, true],
    [OVER, { body: {} }, true],
    [OVER, {}, true],
    [OVER, { body: '{"amount":5}' }, true],
    [OVER, { body: [{ amount: 5 }] }, true],
    [UNDER, { stock: 5 }, false],
    [UNDER, { stock: 4 }, true],
    [UNDER, { stock: true }, true],
    [UNDER, {}, true],
    [IN, { country: 'DE' }, false],
    [IN, { country: 'RU' }, true],
    [IN, { country: 7 }, true],
    [IN, {}, true],
    [NOT_IN, { country: 'AT' }, false],
    [NOT_IN, { country: 'FR' }, true],
    [NOT_IN, { country: 'de' }, true],
    [NOT_IN, { country: ['DE'] }, true],
    [NOT_IN, {}, true],
    [{ argument: 'level', not_in: [1, 'one', true] }, { level: 1 }, false],
    [PRESENT, {}, false],
    [PRESENT, { note: '' }, true],
    [PRESENT, { note: null }, true],
  ])('%j on %j holds: %s', (rule, args, wanted) => {
    expect(holds(when(rule as ConfirmRule), args)).toBe(wanted);
  });

  it.each([
    [OVER, { body: { amount: 5, Amount: 5_000 } }],
    [OVER, { body: { amount: 5 }, Body: { amount: 5_000 } }],
    [NOT_IN, { country: 'DE', 'coun-try': 'FR' }],
    [PRESENT, { Note: 'x' }],
  ])('%j holds if an API may read another argument as the one that is meant: %j', (rule, args) => {
    expect(holds(when(rule), args)).toBe(true);
  });

  it('looks at an argument whose name has a dot, and at the member that the name leads to', () => {
    expect(holds(when(OVER), { 'body.amount': 5 })).toBe(false);
    expect(holds(when(OVER), { 'body.amount': 5, body: { amount: 500 } })).toBe(true);
    expect(holds(when(OVER), { 'body.amount': 500, body: { amount: 5 } })).toBe(true);
  });

  it('is enough if there are several', () => {
    const args = { body: { amount: 5 }, country: 'FR' };
    expect(holds(when(OVER, NOT_IN), args)).toBe(true);
    expect(holds(when(NOT_IN, OVER), args)).toBe(true);
    expect(holds(when(OVER, NOT_IN), { ...args, country: 'DE' })).toBe(false);
  });
});

describe('the policy', () => {
  it.each(['always', 'never', when(OVER, UNDER, IN, NOT_IN, PRESENT)])('may be %j', (policy) => {
    expect(readConfirmPolicy(policy)).toEqual({ policy });
  });

  it.each([
    ['sometimes', ''],
    [true, ''],
    [{}, 'when'],
    [{ when: [] }, 'when'],
    [{ when: [OVER], unless: 1 }, 'unless'],
    [{ when: ['x'] }, 'when.0'],
    [{ when: [{ argument: 'a' }] }, 'when.0'],
    [{ when: [{ ...OVER, under: 5 }] }, 'when.0'],
    [{ when: [{ over: 5 }] }, 'when.0.argument'],
    [{ when: [OVER, { argument: 'a', over: '5' }] }, 'when.1.over'],
    [{ when: [{ argument: 'a', under: Number.NaN }] }, 'when.0.under'],
    [{ when: [{ argument: 'a', in: [] }] }, 'when.0.in'],
    [{ when: [{ argument: 'a', not_in: [['DE']] }] }, 'when.0.not_in'],
    [{ when: [{ argument: 'a', present: false }] }, 'when.0.present'],
    [{ when: [{ ...OVER, ovre: 5 }] }, 'when.0.ovre'],
  ])('may not be %j: %s is wrong', (value, place) => {
    const read = readConfirmPolicy(value);
    if (!('problems' in read)) throw new Error('it was accepted');
    expect(read.problems.map(({ path }) => path.join('.'))).toEqual([place]);
  });

  it('reports all of its problems', () => {
    const read = readConfirmPolicy({ when: [{ over: 'x' }, { argument: '', in: 3 }] });
    expect('problems' in read && read.problems).toHaveLength(4);
  });

  it('is shown in words', () => {
    expect(confirmInWords('always')).toBe('always');
    expect(confirmInWords(when(OVER, UNDER, IN, NOT_IN, PRESENT))).toBe(
      'when body.amount over 100; stock under 5; country in RU, KP; country not in DE, AT; note present; or written in the last 10 minutes',
    );
  });
});

describe('an argument that is named', () => {
  const parameters = {
    type: 'object',
    properties: {
      country: { type: 'string' },
      body: { allOf: [{ $ref: '#/$defs/pay~1ment' }, { anyOf: [{ properties: { note: {} } }] }] },
    },
    $defs: { 'pay/ment': { properties: { amount: {}, self: { $ref: '#/$defs/pay~1ment' } } } },
  };
  const unknown = (argument: string, bind = {}) =>
    unknownArguments({ confirm: when({ argument, present: true }), parameters, bind });

  it.each(['country', 'body', 'body.amount', 'body.note', 'body.self.self.amount'])('exists: %s', (name) => {
    expect(unknown(name)).toEqual([]);
  });

  it.each(['amount', 'body.total', 'body.amount.cents', 'country.code', 'constructor', 'body.__proto__'])(
    'does not exist: %s',
    (name) => {
      expect(unknown(name)).toEqual([name]);
    },
  );

  it('may be a bound one', () => {
    expect(unknown('customer', { customer: 'sub' })).toEqual([]);
  });
});
