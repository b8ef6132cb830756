import { describe, expect, it } from 'vitest';
import { isBefore, type LogFilter, matches } from '../../../src/cli/log-file.ts';

const line = JSON.stringify({
  level: 'warn',
  time: '2026-01-15T12:00:00.000Z',
  request_id: 'r1',
  channel: 'pigeon',
  session: 'pigeon_alice_AbCdEf…',
  msg: 'message refused',
});

describe('a log filter', () => {
  it.each<[LogFilter, boolean]>([
    [{}, true],
    [{ level: 'info' }, true],
    [{ level: 'warn' }, true],
    [{ level: 'error' }, false],
    [{ since: Date.UTC(2026, 0, 15, 12) }, true],
    [{ since: Date.UTC(2026, 0, 15, 13) }, false],
    [{ request: 'r1' }, true],
    [{ request: 'r2' }, false],
    [{ channel: 'pigeon' }, true],
    [{ channel: 'owl' }, false],
    [{ session: ['pigeon_alice_AbCdEfGhIjKlMnOpQrStUv'] }, true],
    [{ session: ['pigeon_alice_AbCdEf…'] }, true],
    [{ session: ['pigeon_alice_AbCdEfGhI'] }, true],
    [{ session: ['pigeon_alice_Ab'] }, true],
    [{ session: ['pigeon_alice_ZzZzZzGhIjKlMnOpQrStUv'] }, false],
    [{ session: ['bird_alice_Ab', 'pigeon_alice_Ab'] }, true],
    [{ level: 'warn', request: 'r1', channel: 'owl' }, false],
  ])('matches a sample line with %j: %s', (filter, expected) => {
    expect(matches(line, filter)).toBe(expected);
  });

  it('matches a line that is not a JSON object only if the filter is empty', () => {
    expect(matches('Segmentation fault', {})).toBe(true);
    expect(matches('Segmentation fault', { level: 'trace' })).toBe(false);
    expect(matches('42', { level: 'trace' })).toBe(false);
  });

  it('reports a line as old only if all earlier lines must be old, too', () => {
    expect(isBefore(line, Date.UTC(2026, 0, 15, 13))).toBe(true);
    expect(isBefore(line, Date.UTC(2026, 0, 15, 11))).toBe(false);
    expect(isBefore(line, undefined)).toBe(false);
    expect(isBefore('no JSON', Date.UTC(2026, 0, 15, 13))).toBe(false);
  });
});
