import { describe, expect, it } from 'vitest';
import type { KnownRecord } from '../../../src/daemon/settings/records/record.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { SETTINGS } from '../../../src/daemon/settings/settings.ts';
import { readValue } from '../../../src/daemon/settings/value.ts';

const base = { name: 'X', sentence: 'It is.' };
const integer: KnownRecord = { ...base, kind: 'integer', min: 0, max: 65_535 };
const number: KnownRecord = { ...base, kind: 'number', min: 0, max: 2 };
const boolean: KnownRecord = { ...base, kind: 'boolean' };
const list: KnownRecord = { ...base, kind: 'list' };
const url: KnownRecord = { ...base, kind: 'url' };
const page: KnownRecord = { ...url, query: true, fragment: true };
const text: KnownRecord = { ...base, kind: 'string' };
const several: KnownRecord = { ...base, kind: 'string', several: true };
const json: KnownRecord = { ...base, kind: 'string', json: true };
const choice = recordOf('LOG_LEVEL');
const durability = recordOf('REDIS_DURABILITY');

function recordOf(name: string): KnownRecord {
  const record = SETTINGS.find((one) => one.name === name);
  if (record === undefined) throw new Error(name);
  return record;
}

describe('the value of a setting', () => {
  it.each<[KnownRecord, unknown, unknown]>([
    [integer, '0', 0],
    [integer, ' 65535 ', 65_535],
    [integer, 8080, 8080],
    [number, ' 0.25 ', 0.25],
    [number, '2', 2],
    [number, 1.5, 1.5],
    [boolean, 'TRUE', true],
    [boolean, 'off', false],
    [boolean, '1', true],
    [boolean, false, false],
    [list, ' a , ,b,', ['a', 'b']],
    [list, ['a', ' b '], ['a', 'b']],
    [list, [], []],
    [url, 'https://example.com/v1', 'https://example.com/v1'],
    [{ ...url, query: true }, 'https://example.com?x', 'https://example.com?x'],
    [page, 'https://example.com/?x#/sign-in', 'https://example.com/?x#/sign-in'],
    [recordOf('JWT_JWKS_URL'), 'https://example.com/keys?p=1', 'https://example.com/keys?p=1'],
    [text, ' a text ', 'a text'],
    [several, ['a', 'b'], 'a\nb'],
    [several, 'a\nb', 'a\nb'],
    [json, ' {"a": 1} ', '{"a": 1}'],
    [json, { a: 1 }, '{"a":1}'],
    [choice, 'info', 'INFO'],
    [choice, 'Warning', 'WARN'],
    [choice, 'CRITICAL', 'FATAL'],
    [durability, 'everysec', 'everysec'],
    [durability, 'default', 'everysec'],
  ])('of the kind %o may be %j', (record, raw, value) => {
    expect(readValue(record, raw)).toEqual({ ok: true, value });
  });

  it.each<[KnownRecord, unknown, string]>([
    [integer, '0x10', 'is not a whole number'],
    [integer, '1e3', 'is not a whole number'],
    [integer, '+1', 'is not a whole number'],
    [integer, 1.5, 'is not a whole number'],
    [integer, true, 'is not a whole number'],
    [integer, '-1', 'is less than 0'],
    [integer, '65536', 'is more than 65535'],
    [integer, '9'.repeat(400), 'is not a whole number'],
    [number, '1e0', 'is not a number'],
    [number, '.5', 'is not a number'],
    [number, Number.NaN, 'is not a number'],
    [number, '-0.1', 'is less than 0'],
    [number, 2.01, 'is more than 2'],
    [boolean, 'maybe', 'is neither true nor false'],
    [list, [1], 'is not a list of strings'],
    [list, { a: 1 }, 'is not a list of strings'],
    [several, ['a', 1], 'is not a string'],
    [several, [], 'is not a string'],
    [text, ['a'], 'is not a string'],
    [url, 'example.com', 'is not an address'],
    [url, 'ftp://example.com', 'is not an http or https address'],
    [url, 'https://u:p@example.com', 'contains credentials'],
    [url, 'https://example.com?x', 'has a query (?)'],
    [url, 'https://example.com#x', 'has a fragment (#)'],
    [{ ...url, query: true }, 'https://example.com?x#x', 'has a fragment (#)'],
    [page, 'https://u:p@example.com', 'contains credentials'],
    [text, 12, 'is a number; put it in quotes'],
    [text, { a: 1 }, 'is not a string'],
    [{ ...text, pattern: /^\/\w+$/g }, 'chat', 'does not have the right form'],
    [json, '{', 'is not a JSON object'],
    [json, '[1]', 'is not a JSON object'],
    [json, 'null', 'is not a JSON object'],
    [json, ['a'], 'is not a string'],
    [choice, 'LOUD', 'is not one of the known values'],
  ])('of the kind %o may not be %j', (record, raw, problem) => {
    expect(readValue(record, raw)).toEqual({ ok: false, problem });
  });

  it('that is secret becomes a Secret, and keeps all characters', () => {
    const reading = readValue({ ...text, secret: true }, ' s3cret ');
    expect(reading.ok && reading.value).toBeInstanceOf(Secret);
    expect(reading.ok && (reading.value as Secret).reveal()).toBe(' s3cret ');
  });
});
