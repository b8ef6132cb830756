/** CHANGELOG.md, in the form of Keep a Changelog. */

const UNRELEASED = '## [Unreleased]\n';

/** The entries that are not released yet. Empty if there are none; null if the section is missing. */
export function unreleased(changelog: string): string | null {
  const start = changelog.indexOf(UNRELEASED);
  if (start === -1) return null;
  const section = changelog.slice(start + UNRELEASED.length);
  const end = section.search(/^## \[/m);
  return (end === -1 ? section : section.slice(0, end)).trim();
}

/** Moves the unreleased entries into a section for this version, below an empty section for the next version. */
export function withRelease(changelog: string, version: string, date: string): string {
  return changelog.replace(UNRELEASED, () => `${UNRELEASED}\n## [${version}] - ${date}\n`);
}
