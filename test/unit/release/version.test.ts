import { expect, it } from 'vitest';
import { isLater, isVersion } from '../../../.ci/release/version.ts';

it.each(['0.3.0', '10.20.30', '1.0.0-rc.1'])('isVersion accepts %s', (version) => {
  expect(isVersion(version)).toBe(true);
});

it.each(['', 'v0.3.0', '0.3', '0.3.0.1', '01.0.0', '1.0.0-rc', '1.0.0-RC.1', ' 1.0.0', 'patch'])(
  'isVersion refuses %j',
  (version) => {
    expect(isVersion(version)).toBe(false);
  },
);

const IN_ORDER = [
  '0.2.0',
  '0.2.1',
  '0.2.10',
  '0.10.0',
  '1.0.0-beta.2',
  '1.0.0-rc.1',
  '1.0.0-rc.10',
  '1.0.0',
  '2.0.0',
];

it('isLater orders versions as semver.org does', () => {
  for (const [index, version] of IN_ORDER.entries())
    for (const [other, current] of IN_ORDER.entries())
      expect([version, current, isLater(version, current)]).toEqual([version, current, index > other]);
});
