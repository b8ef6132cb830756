/** What a step reads, as `agentd_read` takes it. */
export type Read =
  | readonly ['document', kind: string, key: string]
  | readonly ['first', kind: string, index: string, limit: number]
  | readonly ['count', kind: string, index: string]
  | readonly ['list', kind: string, key: string, start: number];

/** The answer of `agentd_read` to the reads of one step. */
export interface FoundReads {
  now: number;
  serial: number;
  answers: readonly unknown[];
}

/** A document as it was read. `version`: 0 if it was absent. */
export interface Version {
  version: number;
  doc: unknown;
}

interface StoredVersion {
  version: number;
  doc: string;
}

/** A document of an index: its stored key and name. */
interface Found {
  key: string;
  name: string | null;
}

const ABSENT: Version = { version: 0, doc: null };

/** What a step has read, all of it at one moment. */
export class Known {
  readonly now: number;
  readonly serial: number;
  readonly #documents = new Map<string, Version>();
  readonly #firsts = new Map<string, readonly Found[]>();
  readonly #counts = new Map<string, number>();
  readonly #items = new Map<string, readonly unknown[]>();

  constructor(reads: readonly Read[], { now, serial, answers }: FoundReads) {
    this.now = now;
    this.serial = serial;
    for (const [place, read] of reads.entries()) this.#add(read, answers[place]);
  }

  document(kind: string, key: string): Version | undefined {
    return this.#documents.get(documentName(kind, key));
  }

  first(read: Read): readonly Found[] | undefined {
    return this.#firsts.get(JSON.stringify(read));
  }

  count(read: Read): number | undefined {
    return this.#counts.get(JSON.stringify(read));
  }

  items(read: Read): readonly unknown[] | undefined {
    return this.#items.get(JSON.stringify(read));
  }

  #add(read: Read, answer: unknown): void {
    const name = JSON.stringify(read);
    switch (read[0]) {
      case 'document':
        this.#note(read[1], read[2], answer as StoredVersion | null);
        return;
      case 'first': {
        const found = (answer ?? []) as (Found & StoredVersion)[];
        for (const one of found) this.#note(read[1], one.key, one);
        this.#firsts.set(name, found);
        return;
      }
      case 'count':
        this.#counts.set(name, Number(answer));
        return;
      case 'list': {
        const items = ((answer ?? []) as string[]).map((item) => JSON.parse(item) as unknown);
        this.#items.set(name, items);
      }
    }
  }

  #note(kind: string, key: string, found: StoredVersion | null): void {
    const version =
      found === null ? ABSENT : { version: found.version, doc: JSON.parse(found.doc) as unknown };
    this.#documents.set(documentName(kind, key), version);
  }
}

/** The state before the first read of a step. */
export const NOTHING = new Known([], { now: 0, serial: 0, answers: [] });

export function documentName(kind: string, key: string): string {
  return `${kind} ${key}`;
}
