import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import type { Change } from './rewrite-sources.ts';

const ROOT = resolve(import.meta.dirname, '../..');

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program that plays random runs, because it replaces the clock, and inserts defects while the sources load. */
export function runProgram(...options: readonly string[]): Promise<Ended> {
  return new Promise((done) => {
    const child = execFile(process.execPath, options, { maxBuffer: 2 ** 26 }, (_error, stdout, stderr) => {
      done({ code: child.exitCode, stdout, stderr });
    });
  });
}

/** Tests that each of the defects, with which `npm run test:thorough` tests the random runs, still fits the sources. */
export function defectsFit(defects: Readonly<Record<string, { changes: readonly Change[] }>>): void {
  it.each(Object.entries(defects))(
    'the defect %s fits the sources: each text that it replaces occurs exactly once',
    (_name, { changes }) => {
      for (const { file, from } of changes)
        expect(readFileSync(resolve(ROOT, file), 'utf8').split(from), `${file}: ${from}`).toHaveLength(2);
    },
  );
}
