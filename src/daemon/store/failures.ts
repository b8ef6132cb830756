import { AgentdError, StoreUnavailable } from '../errors.ts';

/** The content of the store is damaged and cannot be read (exit code 69). A retry does not help. */
export class StoreDamaged extends StoreUnavailable {
  constructor(cause: unknown) {
    super(cause);
    this.name = 'StoreDamaged';
  }
}

/** STATE_DIR cannot be a directory, because a file is in its place or above it (exit code 69). Nothing was changed. */
export class StateDirectoryBlocked extends StoreUnavailable {
  /** @param file the path of the file. */
  constructor(file: string) {
    super(new Error(`${file} is not a directory`));
    this.name = 'StateDirectoryBlocked';
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

  /** @param location the path of the database, for people. */
  constructor(location: string) {
    super(`Another daemon is using the store at ${location}.`);
    this.name = 'StoreLocked';
  }
}

/** A command of an administrator found no store, because no daemon has created it yet. The command created nothing. */
export class StoreMissing extends Error {
  readonly code = 'StoreMissing';

  /** @param location the path where the database would be. */
  constructor(location: string) {
    super(`There is no store at ${location} yet; the daemon creates it when it first starts.`);
    this.name = 'StoreMissing';
  }
}

/**
 * Another version of the program wrote the store, and its data is laid out differently (exit code 69). This version does
 * not touch it, and does not serve half of it.
 */
export class StoreOfAnotherLayout extends Error {
  readonly code = 'StoreOfAnotherLayout';

  /**
   * @param location the path of the database or the address of the server, for people.
   * @param difference what is different, for people.
   */
  constructor(location: string, difference: string) {
    super(
      `The store at ${location} was written by another version of agentd: its layout differs (${difference}). Nothing was changed.`,
    );
    this.name = 'StoreOfAnotherLayout';
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

/** The store failed while a turn was committed: it is not known whether the turn is stored. */
export class CommitUnknown extends AgentdError {
  constructor(cause: StoreUnavailable) {
    super('unavailable', cause.message, { retryAfter: 5, cause });
    this.name = 'CommitUnknown';
  }
}

/**
 * The claim of a message that is being answered is gone: another process took it over, or an administrator ended it.
 */
export class ClaimLost extends AgentdError {
  constructor() {
    super('unavailable', 'Another process has taken over this message, or an administrator ended it.', {
      retryAfter: 5,
    });
    this.name = 'ClaimLost';
  }
}
