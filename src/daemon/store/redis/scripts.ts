import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** A script as it is sent to the server. */
export interface Script {
  readonly text: string;
  /** The hash by which the server knows the script. */
  readonly sha: string;
}

const INCLUDES = /^-- include: (.+)$/m;

let files: ReadonlyMap<string, string> | null = null;

/**
 * Makes the scripts from the `.lua` files next to this one. A script begins with the constants and `base.lua`, followed
 * by the files that its first line names.
 * @param constants numbers that scripts can use under these names.
 */
export function readScripts(constants: Readonly<Record<string, number>>): ReadonlyMap<string, Script> {
  files ??= readFiles();
  const named = Object.entries(constants).map(([name, value]) => `local ${name} = ${value}`);
  const part = (name: string): string => {
    const text = files?.get(name);
    if (text === undefined) throw new Error(`there is no script ${name}.lua`);
    return text;
  };
  return new Map(
    [...files].map(([name, text]) => {
      const included = [...includedBy(text, part)].map(part);
      const whole = [named.join('\n'), part('base'), ...included, text].join('\n');
      return [name, { text: whole, sha: createHash('sha1').update(whole).digest('hex') }];
    }),
  );
}

function readFiles(): ReadonlyMap<string, string> {
  const here = new URL('.', import.meta.url);
  const names = readdirSync(here).filter((name) => name.endsWith('.lua'));
  return new Map(
    names.map((name) => [name.slice(0, -'.lua'.length), readFileSync(new URL(name, here), 'utf8')]),
  );
}

/** The files that a script includes, each one after the files that it includes itself. */
function includedBy(text: string, part: (name: string) => string, found = new Set<string>()): Set<string> {
  for (const name of INCLUDES.exec(text)?.[1]?.split(' ') ?? []) {
    includedBy(part(name), part, found);
    found.add(name);
  }
  return found;
}
