import { StoreUnavailable } from '../errors.ts';

/** What is in the store cannot be read as what it was (exit code 69): trying again mends nothing. */
export class StoreDamaged extends StoreUnavailable {
  constructor(cause: unknown) {
    super(cause);
    this.name = 'StoreDamaged';
  }
}

/** Another daemon works on the same store (exit code 69). */
export class StoreLocked extends Error {
  readonly code = 'StoreLocked';

  /** @param place what is taken, for people: the path of the database. */
  constructor(place: string) {
    super(`Another daemon is using the store at ${place}.`);
    this.name = 'StoreLocked';
  }
}

/** An administrator looked for a store where no daemon has made one yet. Nothing was created. */
export class StoreMissing extends Error {
  readonly code = 'StoreMissing';

  /** @param place where nothing is: the path of the database. */
  constructor(place: string) {
    super(`There is no store at ${place} yet; the first start of the daemon makes it.`);
    this.name = 'StoreMissing';
  }
}

/** The store was written by a later version of the program; this one does not touch it (exit code 69). */
export class StoreTooNew extends Error {
  readonly code = 'StoreTooNew';

  /**
   * @param place path of the database.
   * @param found version of its schema.
   * @param known the latest version that this program knows.
   */
  constructor(place: string, found: number, known: number) {
    super(
      `The store at ${place} was written by a later version of agentd: its schema is ${found}, this version knows up to ${known}.`,
    );
    this.name = 'StoreTooNew';
  }
}
