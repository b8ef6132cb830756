import { AgentdError, StoreUnavailable } from '../errors.ts';

/** The content of the store is damaged and cannot be read (exit code 69). A retry does not help. */
export class StoreDamaged extends StoreUnavailable {
  constructor(cause: unknown) {
    super(cause);
    this.name = 'StoreDamaged';
  }
}

/** The store has too little space left for new messages, which are refused (503). Answers are still stored. */
export class StoreFull extends AgentdError {
  constructor() {
    super('unavailable', 'The store is almost full and accepts no new messages at the moment.', {
      retryAfter: 30,
    });
    this.name = 'StoreFull';
  }
}

/** The backup before a migration could not be written (exit code 69). The database was not changed. */
export class MigrationBackupFailed extends Error {
  readonly code = 'MigrationBackupFailed';

  /**
   * @param place the path of the backup.
   * @param needed the size of the backup, bytes.
   */
  constructor(place: string, needed: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `The database must be migrated, and its backup ${place} could not be written: ${reason}. Nothing was changed. Make ${Math.ceil(needed / 1024 / 1024)} MiB of space available there, then start again.`,
      { cause },
    );
    this.name = 'MigrationBackupFailed';
  }
}

/** A backup that an administrator asked for could not be written (exit code 1). No partial file remains. */
export class BackupFailed extends Error {
  readonly code = 'BackupFailed';

  constructor(file: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`The backup ${file} could not be written: ${reason}.`, { cause });
    this.name = 'BackupFailed';
  }
}

/** A file cannot be restored (exit code 1). The store was not changed. */
export class RestoreRefused extends Error {
  readonly code = 'RestoreRefused';

  /** @param why completes the sentence "The file cannot be restored: {why}." */
  constructor(file: string, why: string, options?: { cause?: unknown }) {
    super(`The file ${file} cannot be restored: ${why}. The store was not changed.`, options);
    this.name = 'RestoreRefused';
  }
}

/** Another daemon uses the same store (exit code 69). */
export class StoreLocked extends Error {
  readonly code = 'StoreLocked';

  /** @param place the path of the database, for people. */
  constructor(place: string) {
    super(`Another daemon is using the store at ${place}.`);
    this.name = 'StoreLocked';
  }
}

/** A command of an administrator found no store, because no daemon has created it yet. The command created nothing. */
export class StoreMissing extends Error {
  readonly code = 'StoreMissing';

  /** @param place the path where the database would be. */
  constructor(place: string) {
    super(`There is no store at ${place} yet; the daemon creates it when it first starts.`);
    this.name = 'StoreMissing';
  }
}

/** A later version of the program wrote the store, so this version does not touch it (exit code 69). */
export class StoreTooNew extends Error {
  readonly code = 'StoreTooNew';

  /**
   * @param place the path of the database.
   * @param found the version of its schema.
   * @param known the latest version of the schema that this program knows.
   */
  constructor(place: string, found: number, known: number) {
    super(
      `The store at ${place} was written by a later version of agentd: its schema version is ${found}, and this version supports at most ${known}.`,
    );
    this.name = 'StoreTooNew';
  }
}

/** The Cluster was written by an earlier version, which kept all keys on one node (exit code 69). */
export class StoreUnsharded extends Error {
  readonly code = 'StoreUnsharded';

  /** @param place the nodes, for people. */
  constructor(place: string) {
    super(
      `The Redis Cluster at ${place} contains data of an earlier version of agentd, which stored everything on one node. This version cannot read it.`,
    );
    this.name = 'StoreUnsharded';
  }
}

/** The server of the store is older than agentd needs (exit code 69). */
export class StoreTooOld extends Error {
  readonly code = 'StoreTooOld';

  /**
   * @param found the version of the server.
   * @param needed the oldest version that works.
   */
  constructor(found: string, needed: string) {
    super(`Redis ${found} is too old: agentd needs ${needed} or newer, or Valkey.`);
    this.name = 'StoreTooOld';
  }
}
