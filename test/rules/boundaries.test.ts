import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHANNEL_TITLES, RESERVED_CHANNEL_NAMES } from '../../plugins/names.ts';
import { filesBelow, type Import, importsOf, read, sourcesBelow } from './source-files.ts';

/** The neutral names of the platform channels, and the names of the platforms. */
const PLATFORM_WORDS = [...RESERVED_CHANNEL_NAMES, 'slack', 'whatsapp', 'telegram'];
const PLATFORM = new RegExp(
  `(?<![A-Za-z])(?:${PLATFORM_WORDS.flatMap((word) => [word, word.charAt(0).toUpperCase() + word.slice(1)]).join('|')})(?![a-z])`,
);
/** The modules of "agentd/channel" and "agentd/channel/markdown". */
const CONTRACT = ['src/channel/index.ts', 'src/channel/markdown.ts'];
/** Modules that are bundled into scripts for browsers. The package does not need to export them. */
const BUNDLED = ['src/channel/event-stream.ts', 'src/channel/json-object.ts'];
const DATABASE_CLIENTS = ['better-sqlite3', 'node:sqlite', 'ioredis', 'pg'];
/** The only part of the daemon that the commands of administrators use. */
const FACADE = 'src/daemon/admin/';
/** Commands whose only work is to run a part of the agent. */
const LOADS_AGENT = new Set([
  'src/cli/commands/eval-add.ts',
  'src/cli/commands/eval.ts',
  'src/cli/commands/replay.ts',
  'src/cli/commands/tools-call.ts',
]);

function violations(folder: string, isViolation: (file: string, found: Import) => boolean): string[] {
  return sourcesBelow(folder).flatMap((file) =>
    importsOf(file)
      .filter((found) => isViolation(file, found))
      .map(({ specifier }) => `${file} imports ${specifier}`),
  );
}

function linesNaming(words: RegExp, file: string): string[] {
  const lines = read(file).split('\n');
  return lines.flatMap((line, at) => (words.test(line) ? [`${file}:${at + 1} ${line.trim()}`] : []));
}

it('an object literal has its members one by one, and is no spread literal within another', () => {
  const written = ['src', 'plugins'].flatMap(sourcesBelow).filter((file) => /\.\.\.\{\s*\w/.test(read(file)));
  expect(written).toEqual([]);
});

describe('boundaries', () => {
  it('no platform is named in src/', () => {
    expect(sourcesBelow('src').flatMap((file) => linesNaming(PLATFORM, file))).toEqual([]);
  });

  it('a plugin names no platform but its own', () => {
    const named = Object.entries(CHANNEL_TITLES).flatMap(([name, title]) =>
      sourcesBelow('plugins')
        .filter((file) => file !== 'plugins/names.ts' && !file.startsWith(`plugins/${name}/`))
        .flatMap((file) => linesNaming(new RegExp(`\\b(?:${name}|${title})\\b`), file)),
    );
    expect(named).toEqual([]);
  });

  it('src/ imports nothing from plugins/ except plugins/names.ts and, for `serve --dev`, the sample company', () => {
    const reached = violations('src', (file, found) => {
      const isSample = found.file?.startsWith('plugins/sample/') && file.startsWith('src/daemon/dev/');
      return found.file?.startsWith('plugins/') === true && found.file !== 'plugins/names.ts' && !isSample;
    });
    expect(reached).toEqual([]);
  });

  it('no database client is imported outside the folder of a backend', () => {
    const reached = [...violations('src', outsideOfBackend), ...violations('plugins', outsideOfBackend)];
    expect(reached).toEqual([]);

    function outsideOfBackend(file: string, { specifier }: Import): boolean {
      return DATABASE_CLIENTS.includes(specifier) && !/^src\/daemon\/store\/kernels\/[a-z]+\//.test(file);
    }
  });

  it('no store backend is imported outside its folder, except by store/open.ts', () => {
    const reached = violations('src', (file, found) => {
      const backend = /^src\/daemon\/store\/kernels\/[a-z]+\//.exec(found.file ?? '')?.[0];
      return backend !== undefined && !file.startsWith(backend) && file !== 'src/daemon/store/open.ts';
    });
    expect(reached).toEqual([]);
  });

  it('a plugin imports from agentd only the channel contract and its own folder', () => {
    const reached = violations('plugins', (file, found) => {
      const own = /^plugins\/[^/]+\//.exec(file)?.[0];
      if (own === undefined) return true;
      // The template is copied into new packages, so it imports the contract like an external package.
      if (own === 'plugins/template/' && found.file === null)
        return /^agentd(?!\/channel(\/(conformance|markdown))?$)/.test(found.specifier);
      // This file runs when agentd is built, and is not a part of the channel.
      if (file === `${own}build.ts`) return false;
      // The import is a package: a library of the platform, or a module of Node.
      if (found.file === null) return found.specifier.startsWith('agentd');
      const isBundled = BUNDLED.includes(found.file) && file.startsWith(`${own}widget/`);
      return !isBundled && !CONTRACT.includes(found.file) && !found.file.startsWith(own);
    });
    expect(reached).toEqual([]);
  });

  it('the channel contract imports only packages and files of its own folder', () => {
    const reached = violations(
      'src/channel',
      (_file, { file }) => file !== null && !file.startsWith('src/channel/'),
    );
    expect(reached).toEqual([]);
  });

  it('the daemon imports nothing from the command line', () => {
    const reached = violations('src/daemon', (_file, { file }) => file?.startsWith('src/cli/') === true);
    expect(reached).toEqual([]);
  });

  it('the command line reaches the daemon only through src/daemon/admin', () => {
    const reached = violations('src/cli', (file, found) => {
      const isDaemon = found.file?.startsWith('src/daemon/') === true;
      return isDaemon && !found.file?.startsWith(FACADE) && !isStartOfDaemon(file, found);
    });
    expect(reached).toEqual([]);

    // `agentd serve` is the daemon itself, and no command of an administrator.
    function isStartOfDaemon(file: string, found: Import): boolean {
      return file === 'src/cli/commands/serve.ts' && found.file === 'src/daemon/run.ts' && found.dynamic;
    }
  });

  it('nothing but the command line uses src/daemon/admin', () => {
    const reached = violations(
      'src/daemon',
      (file, found) => !file.startsWith(FACADE) && found.file?.startsWith(FACADE) === true,
    );
    expect(reached).toEqual([]);
  });

  it('a command loads no package before it runs, and no configuration, store or server', () => {
    const sources = new Set(sourcesBelow('src'));
    const commands = sourcesBelow('src/cli/commands').filter((file) => !LOADS_AGENT.has(file));
    const early = [...commands, 'src/cli/main.ts', 'src/cli/program.ts'].flatMap((file) =>
      [...loadedWith(file, sources)].filter(isHeavy).map((loaded) => `${file} loads ${loaded}`),
    );
    expect(early).toEqual([]);

    function isHeavy(loaded: string): boolean {
      const isPackage = !loaded.startsWith('src/') && !loaded.startsWith('plugins/');
      // The scaffold of a tool contains an import of `agentd/agent`, as text.
      if (isPackage) return !/^node:|^agentd\/|^commander$/.test(loaded);
      return /^src\/daemon\/(settings\/configure\/configure\.ts|http\/|store\/(open\.ts|kernels\/))/.test(
        loaded,
      );
    }
  });

  it('there are no import cycles', () => {
    // Type imports are erased, and dynamic imports run after all modules have been loaded. Both may form cycles.
    const graph = new Map(
      [...sourcesBelow('src'), ...sourcesBelow('plugins')].map((file) => [
        file,
        importsOf(file).flatMap((found) =>
          found.file !== null && !found.typeOnly && !found.dynamic ? [found.file] : [],
        ),
      ]),
    );
    expect(circlesIn(graph)).toEqual([]);
  });

  it('no folder or file has a meaningless name', () => {
    const vague = /(^|\/)(utils?|helpers?|common|misc|types)(\.[a-z]+)?(\/|$)/;
    const files = ['src', 'plugins', 'test', 'man', 'bin'].flatMap(filesBelow);
    expect(files.filter((file) => vague.test(file))).toEqual([]);
  });

  it('nothing that a source file loads when it needs it was loaded with the file', () => {
    const sources = new Set(['src', 'plugins'].flatMap(sourcesBelow));
    const early = [...sources].flatMap((file) => {
      const later = importsOf(file).filter(({ dynamic, typeOnly }) => dynamic && !typeOnly);
      if (later.length === 0) return [];
      const loaded = loadedWith(file, sources);
      return later
        .filter((found) => loaded.has(found.file ?? found.specifier))
        .map(({ specifier }) => `${file}: ${specifier}`);
    });
    expect(early).toEqual([]);
  });

  it('every import of a source file has the file extension', () => {
    const bare = ['src', 'plugins'].flatMap((folder) =>
      violations(folder, (_file, { file }) => file !== null && !/\.(ts|js|json|css)$/.test(basename(file))),
    );
    expect(bare).toEqual([]);
  });
});

/** Everything that is loaded together with a module: files, and names of packages. */
function loadedWith(
  file: string,
  sources: ReadonlySet<string>,
  loaded = new Set<string>(),
): ReadonlySet<string> {
  for (const found of importsOf(file)) {
    const next = found.file ?? found.specifier;
    if (found.typeOnly || found.dynamic || loaded.has(next)) continue;
    loaded.add(next);
    if (sources.has(next)) loadedWith(next, sources, loaded);
  }
  return loaded;
}

/** Returns each cycle once, as the path of its files. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    const met = path.indexOf(file);
    if (met !== -1) {
      circles.push([...path.slice(met), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const next of graph.get(file) ?? []) walk(next, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) walk(file, []);
  return circles;
}
