/** One holder at a time per key, in order of asking. Keys of this daemon's process die with it. */
export interface LeaseStore {
  /** Resolves when it is this caller's turn; rejects with the signal's reason when aborted before. */
  acquire(key: string, signal: AbortSignal): Promise<Lease>;
}

export interface Lease {
  /** Aborts when the lease was lost (time-out, another took over); writes after that must not happen. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}
