import { readFileSync, statSync } from 'node:fs';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';
import { problemOfKeys } from './encryption-keys.ts';
import { type KeyFile, keysOfContent } from './key-file.ts';
import type { KeySource } from './seal.ts';

/**
 * The keys of the file as it is now, for a daemon that runs while an administrator changes it. It costs a look at the
 * file's time each time. A file that cannot be used any more leaves the keys as they are, with a warning.
 */
export class WatchedKeyFile implements KeySource {
  readonly #path: string;
  readonly #log: Pick<Log, 'warn'>;
  #keys: Secret;
  #seen = '';

  constructor({ path, keys }: Pick<KeyFile, 'path' | 'keys'>, log: Pick<Log, 'warn'>) {
    this.#path = path;
    this.#keys = keys;
    this.#log = log;
  }

  current(): Secret {
    const seen = this.#look();
    if (seen === this.#seen) return this.#keys;
    this.#seen = seen;
    try {
      const keys = keysOfContent(readFileSync(this.#path, 'utf8'));
      const problem = problemOfKeys(keys);
      if (problem !== null) throw new Error(`the file ${problem}`);
      if (keys.reveal() !== this.#keys.reveal()) this.#keys = keys;
    } catch (error) {
      this.#log.warn(
        { err: error, path: this.#path },
        'the file with the key of stored tokens cannot be used any more; the keys that were in it stay in use until the daemon stops',
      );
    }
    return this.#keys;
  }

  /** Changes with the file. */
  #look(): string {
    const found = statSync(this.#path, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? 'none' : `${found.ino} ${found.mtimeNs} ${found.size}`;
  }
}
