import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SLOW, THOROUGH } from '../support/suites.ts';
import { filesBelow, importsOf, ROOT, read, sourcesBelow } from './source-files.ts';

const manifest = JSON.parse(read('package.json')) as {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  keywords?: string[];
  man?: string[];
  scripts: Record<string, string>;
  exports: Record<string, string | { types: string; default: string }>;
};

/** The packages for which agentd-design(7) gives a reason, in the lists of its section "Dependencies". */
function packagesWithReason(): string[] {
  const [, section = ''] = /^## Dependencies\n(.*?)^## /ms.exec(read('man/agentd-design.7.md')) ?? [];
  return [...section.matchAll(/^- (`.+?`): /gm)].flatMap(([, terms = '']) =>
    terms.split(', ').map((term) => term.replaceAll('`', '')),
  );
}

describe('package.json', () => {
  it('depends on the packages for which agentd-design(7) gives a reason, and on no others', () => {
    const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(packagesWithReason().toSorted()).toEqual(packages.toSorted());
  });

  it('depends on each package that a source imports, and on none that nothing uses', () => {
    const sources = ['src', 'plugins', 'test', 'man', '.ci'].flatMap(sourcesBelow);
    const imported = sources.flatMap(importsOf).flatMap(({ specifier, file }) => {
      const [name] = /^(?:@[\w-]+\/)?[a-z][\w.-]*/.exec(specifier) ?? [];
      return file !== null || name === undefined || name === 'agentd' || name.startsWith('node:') ? [] : name;
    });
    const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
    expect([...new Set(imported)].filter((name) => !packages.includes(name))).toEqual([]);
    // Some packages are programs, or a test names them by a text.
    const programs: Readonly<Record<string, string>> = { '@biomejs/biome': 'biome', typescript: 'tsc' };
    const scripts = Object.values(manifest.scripts).join(' ').split(/[ ;]/);
    const texts = [...sources, 'bin/agentd.js'].map(read).join('\n');
    const isUsed = (name: string) =>
      imported.includes(name) ||
      name.startsWith('@types/') ||
      scripts.includes(programs[name] ?? name) ||
      [`'${name}`, `/${name}/`].some((text) => texts.includes(text));
    expect(packages.filter((name) => !isUsed(name))).toEqual([]);
  });

  it('installs every manual page for man(1)', () => {
    const pages = filesBelow('man').filter((file) => file.endsWith('.md'));
    expect(manifest.man).toEqual(pages.map((file) => `./dist/${file.replace(/\.md$/, '')}`));
  });

  it('starts the daemon with `exec`, so that SIGTERM reaches it; also in the template of a channel', () => {
    const template = JSON.parse(read('plugins/template/package.json')) as typeof manifest;
    for (const { scripts } of [manifest, template]) expect(scripts.start).toMatch(/^exec .*serve --dev$/);
  });

  it('is installed with what its build and tests need, also if NODE_ENV is `production`', () => {
    for (const file of ['.npmrc', 'plugins/template/npmrc']) expect(read(file)).toMatch(/^include=dev$/m);
  });

  it('has keywords for searches in a registry', () => {
    expect(manifest.keywords?.length).toBeGreaterThanOrEqual(5);
    expect(manifest.keywords).toEqual([...new Set(manifest.keywords)].toSorted());
  });

  it('exports the two contracts, the modules that tests of a channel need, and the widget, from sources that exist', () => {
    expect(Object.keys(manifest.exports)).toEqual([
      './agent',
      './channel',
      './channel/conformance',
      './channel/markdown',
      './package.json',
      './widget',
    ]);
    for (const target of Object.values(manifest.exports)) {
      if (typeof target === 'string') continue;
      const source = target.default.replace('./dist/', '').replace(/\.js$/, '.ts');
      expect([source, existsSync(join(ROOT, source))]).toEqual([source, true]);
      expect(target.types).toBe(target.default.replace(/\.js$/, '.d.ts'));
    }
  });

  it('has the scripts that CONTRIBUTING.md names, and runs unit tests without a build', () => {
    const named = [...read('CONTRIBUTING.md').matchAll(/npm (?:run )?([a-z][a-z0-9:]*)/g)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'ci' && name !== 'install');
    expect(named).toEqual(
      expect.arrayContaining([
        'test',
        'test:thorough',
        'test:unit',
        'test:e2e',
        'check',
        'bench',
        'man',
        'release',
      ]),
    );
    expect(named.filter((name) => manifest.scripts[name] === undefined)).toEqual([]);
    expect(manifest.scripts['test:unit']).not.toContain('build');
  });
});

describe('the test suites', () => {
  it('name only files that exist', () => {
    expect([...SLOW, ...THOROUGH].filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('run in the same way on a CI server as on any machine', () => {
    expect(read('.github/workflows/ci.yml')).toMatch(/^ +- run: \.ci\/run$/m);
    expect(read('.ci/run')).toMatch(/^npm ci\nnpm test$/m);
    expect(read('.github/workflows/nightly.yml')).toMatch(/^ +- run: npm run test:thorough$/m);
  });
});

describe('.editorconfig', () => {
  it('has the same settings as the formatter', () => {
    const { formatter } = JSON.parse(read('biome.json')) as { formatter: Record<string, string | number> };
    const [, rules = ''] = /^\[\*\]\n(.*?)\n\n/ms.exec(read('.editorconfig')) ?? [];
    expect(Object.fromEntries(rules.split('\n').map((line) => line.split(' = ')))).toMatchObject({
      indent_style: formatter.indentStyle,
      indent_size: String(formatter.indentWidth),
      max_line_length: String(formatter.lineWidth),
    });
  });
});
