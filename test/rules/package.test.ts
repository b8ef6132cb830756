import { describe, expect, it } from 'vitest';
import { filesBelow, read } from './source-files.ts';

const manifest = JSON.parse(read('package.json')) as {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  keywords?: string[];
  man?: string[];
};

/** The packages that agentd-design(7) gives a reason for: the terms of the section's lists. */
function packagesWithReason(): string[] {
  const [, section = ''] = /^## Dependencies\n(.*?)^## /ms.exec(read('man/agentd-design.7.md')) ?? [];
  return [...section.matchAll(/^- (`.+?`): /gm)].flatMap(([, terms = '']) =>
    terms.split(', ').map((term) => term.replaceAll('`', '')),
  );
}

describe('package.json', () => {
  it('depends on what agentd-design(7) gives a reason for, and on nothing else', () => {
    const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(packagesWithReason().toSorted()).toEqual(packages.toSorted());
  });

  it('installs every manual page for man(1)', () => {
    const pages = filesBelow('man').filter((file) => file.endsWith('.md'));
    expect(manifest.man).toEqual(pages.map((file) => `./dist/${file.replace(/\.md$/, '')}`));
  });

  it('has keywords by which a registry finds it', () => {
    expect(manifest.keywords?.length).toBeGreaterThanOrEqual(5);
    expect(manifest.keywords).toEqual([...new Set(manifest.keywords)].toSorted());
  });
});
