import { type Answer, documentName, type Read, type Row, Stored } from '../optimistic-tx.ts';
import { originalKey, storedKey } from './stored-key.ts';

/** The answer of `agentd_read` to the reads of one step. */
export interface FoundReads {
  now: number;
  serial: number;
  answers: readonly unknown[];
}

interface FoundDocument {
  version: number;
  doc: string;
}

/** A document of an index: its stored key and name. */
type FoundRow = FoundDocument & { key: string; name: string | null };

/** The read as `agentd_read` takes it. */
export function toArguments({ what, kind, of, n }: Read): readonly (string | number)[] {
  return [what === 'items' ? 'list' : what, kind?.name ?? '', storedKey(of), n];
}

/** What a step has read, all of it at one moment. */
export class Known {
  readonly now: number;
  readonly serial: number;
  readonly #documents = new Map<string, Stored>();
  readonly #answers = new Map<string, Answer<unknown>>();

  constructor(reads: readonly Read[], { now, serial, answers }: FoundReads) {
    this.now = now;
    this.serial = serial;
    for (const [place, read] of reads.entries()) this.#add(read, answers[place]);
  }

  document(kind: string, key: string): Stored | undefined {
    return this.#documents.get(documentName(kind, key));
  }

  answer<T>(read: Read): Answer<T> | undefined {
    return this.#answers.get(read.id) as Answer<T> | undefined;
  }

  #add({ what, kind, of, n, id }: Read, answer: unknown): void {
    const name = kind?.name ?? '';
    if (what === 'document') this.#note(name, of, answer as FoundDocument | null);
    else if (what === 'first') {
      const value = ((answer ?? []) as FoundRow[]).map((found): Row<Stored> => {
        const key = originalKey(found.key, found.name);
        return [key, this.#note(name, key, found)];
      });
      this.#answers.set(id, { value, n });
    } else this.#answers.set(id, { value: answer ?? [], n });
  }

  #note(kind: string, key: string, found: FoundDocument | null): Stored {
    const stored = found === null ? ABSENT : new Stored(String(found.version), null, found.doc);
    this.#documents.set(documentName(kind, key), stored);
    return stored;
  }
}

export const ABSENT = new Stored('', null, null);

/** The state before the first read of a step. */
export const NOTHING = new Known([], { now: 0, serial: 0, answers: [] });
