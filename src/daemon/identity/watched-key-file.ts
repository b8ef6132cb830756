import { readFileSync, statSync } from 'node:fs';
import type { Log } from '../process/log.ts';
import type { Secret } from '../settings/secret.ts';
import { problemOfKeys } from './encryption-keys.ts';
import { type KeyFile, keysOfContent } from './key-file.ts';
import type { KeySource } from './seal.ts';

/**
 * The current keys of the file, for a daemon that runs while an administrator changes the file. Each read checks the
 * modification time of the file. If the file can no longer be used, the keys stay as they are, and a warning is logged.
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
        'the file with the key of stored tokens can no longer be used; its last keys stay in use until it is repaired or the daemon stops',
      );
    }
    return this.#keys;
  }

  /** A text that changes whenever the file changes. */
  #look(): string {
    const found = statSync(this.#path, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? 'none' : `${found.ino} ${found.mtimeNs} ${found.size}`;
  }
}
