import { expect, it } from 'vitest';
import { unreleased, withRelease } from '../../../.ci/release/changelog.ts';

const CHANGELOG = `# Changelog

## [Unreleased]

### Fixed

- A price of $1 is kept ($& too).

## [0.2.0] - 2026-11-22

### Added

- More.
`;

it('unreleased returns the entries of the section Unreleased', () => {
  expect(unreleased(CHANGELOG)).toBe('### Fixed\n\n- A price of $1 is kept ($& too).');
});

it('unreleased returns an empty text for a section without entries, and null if there is no section', () => {
  expect(unreleased(CHANGELOG.replace(/### Fixed.*?(?=## \[0)/s, ''))).toBe('');
  expect(unreleased('## [Unreleased]\n')).toBe('');
  expect(unreleased(CHANGELOG.replace('Unreleased', '0.3.0'))).toBeNull();
});

it('withRelease moves the unreleased entries to the new version, and leaves an empty unreleased section', () => {
  const released = withRelease(CHANGELOG, '0.3.0', '2026-12-01');
  expect(released).toContain('## [Unreleased]\n\n## [0.3.0] - 2026-12-01\n\n### Fixed\n\n- A price of $1');
  expect(unreleased(released)).toBe('');
  expect(released).toContain('## [0.2.0] - 2026-11-22');
});
