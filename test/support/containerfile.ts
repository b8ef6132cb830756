import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import dockerignore from '@balena/dockerignore';
import { linkTree } from './link-tree.ts';

const ROOT = resolve(import.meta.dirname, '../..');

export interface Instruction {
  /** `COPY` */
  word: string;
  rest: string;
}

/** A part of the file that begins with FROM. */
export interface Stage {
  /** The name after AS; null if it has none. */
  name: string | null;
  instructions: readonly Instruction[];
}

/** The stages of config/Containerfile: each instruction on one line, without comments. */
export function containerStages(): Stage[] {
  const instructions = readFileSync(join(ROOT, 'config/Containerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Instruction => {
      const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
      return { word, rest };
    });
  const starts = instructions.flatMap(({ word }, index) => (word === 'FROM' ? [index] : []));
  return starts.map((start, index) => ({
    name: / AS (\S+)$/.exec(instructions[start]?.rest ?? '')?.[1] ?? null,
    instructions: instructions.slice(start, starts[index + 1]),
  }));
}

/** The files of this checkout that a container engine gets: those that .dockerignore does not exclude. */
export function contextFiles(): string[] {
  const ignored = dockerignore.default().add(readFileSync(join(ROOT, '.dockerignore'), 'utf8'));
  // To list these folders takes long. If a pattern lets through one of them, its files are listed, too.
  const skipped = ['node_modules', '.git'].filter((folder) => ignored.ignores(`${folder}/any/file`));
  const found = readdirSync(ROOT, { withFileTypes: true })
    .filter(({ name }) => !skipped.includes(name))
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(ROOT, entry.name), { withFileTypes: true, recursive: true })
        : entry,
    )
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)));
  return ignored.filter(found).toSorted();
}

/**
 * Carries out a stage as a container engine does, but on this machine: a folder stands in for the root of the image.
 * RUN is carried out only in stages that others copy from: the last stage may change users and paths of the system.
 * @param folder the roots of the stages, one folder for each name
 * @returns the folder that stands in for WORKDIR
 */
export function buildStage({ name, instructions }: Stage, folder: string): string {
  const root = join(folder, name ?? 'image');
  let workdir = root;
  for (const { word, rest } of instructions) {
    if (word === 'WORKDIR') {
      workdir = join(root, rest);
      mkdirSync(workdir, { recursive: true });
    } else if (word === 'COPY') {
      copy(rest, workdir, folder);
    } else if (word === 'RUN' && name !== null) {
      execFileSync('sh', ['-ec', rest], { cwd: workdir, env: BUILD_ENV, stdio: ['ignore', 'pipe', 'pipe'] });
    }
  }
  return workdir;
}

/** npm uses its cache, and asks a registry only for packages that the cache does not have. */
const BUILD_ENV = {
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: process.env.HOME,
  npm_config_prefer_offline: 'true',
};

/** @param words of an instruction COPY, as in `--from=build /agentd/bin ./bin` */
function copy(words: string, workdir: string, folder: string): void {
  const [first = '', ...others] = words.split(' ');
  const [, from] = /^--from=(.*)$/.exec(first) ?? [];
  const paths = from === undefined ? [first, ...others] : others;
  const target = paths.at(-1) ?? '';
  const source = from === undefined ? ROOT : join(folder, from);
  const passes = from === undefined ? contextFiles() : null;
  for (const path of paths.slice(0, -1)) {
    if (passes === null) {
      const to = target.endsWith('/') ? join(target, basename(path)) : target;
      linkTree(join(source, path), join(workdir, to));
      continue;
    }
    const files = path === '.' ? passes : passes.filter((file) => file === path);
    if (files.length === 0) throw new Error(`COPY ${words}: .dockerignore excludes ${path}`);
    for (const file of files) cpSync(join(source, file), join(workdir, target, file));
  }
}
