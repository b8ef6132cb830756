import { describe, expect, it } from 'vitest';
import { findPathProblem } from '../../../../src/daemon/tools/downstream/safe-path.ts';

// The requests that servers in front of an API make of a path: they decode it, and some decode what no standard allows.

const at = (value: string, allow_slash = false) =>
  findPathProblem(`/orders/${encodeURIComponent(value)}`, allow_slash);

describe('a segment is refused as a dot segment', () => {
  it.each([
    '%c0%ae%c0%ae',
    '%E0%80%AE.',
    '%f0%80%80%ae.',
    '%25c0%25ae.',
    '．．',
    '‥',
    '․.',
    '%ef%bc%8e%ef%bc%8e',
    '%u002e%uff0e',
    '%25%32%65%25%32%65',
    '%%32e.',
    '.. ',
    ' ..',
    '. ',
    '..%20',
    ' ',
  ])('written as %j', (value) => {
    for (const allow_slash of [false, true]) expect(at(value, allow_slash)).toContain('empty, `.` or `..`');
  });
});

describe('a segment is refused for a slash', () => {
  it.each([
    'a%c0%afb',
    'a%c1%9cb',
    'a%e0%80%afb',
    'a／b',
    'a＼b',
    'a%ef%bc%8fb',
    'a%u002fb',
    'a%25%32%66b',
    '℀',
  ])('written as %j', (value) => {
    expect(at(value)).toContain('encoded `/`');
    expect(at(value.replace('℀', 'a/c'), true)).toBeNull();
  });
});

describe('a segment is refused for a control character', () => {
  it.each([
    '..\0',
    '..%00',
    'a\r\nX-User: bob',
    'a%0d%0ab',
    'a%250ab',
    '.\n.',
    '..\t',
    'a%c0%80',
    'a%25%30%30',
    '\x7f',
  ])('written as %j', (value) => {
    for (const allow_slash of [false, true]) expect(at(value, allow_slash)).toContain('control character');
  });
});

it.each([
  '7',
  '50%',
  'a b',
  'a;b=c',
  '...',
  '1.2',
  'Müller',
  '注文',
  '½',
  'a%2',
  '%zz',
  ':',
  "o'neil",
  '100% sure',
])('a segment may be %j', (value) => {
  expect(at(value)).toBeNull();
});
