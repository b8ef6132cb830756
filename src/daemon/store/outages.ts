/**
 * Platforms that cannot be reached. During an outage, one message at a time probes the platform, and the others wait.
 */
export interface OutageStore {
  /** The current outages, in no particular order. */
  list(): Promise<Outage[]>;
  /** Begins an outage or, during an outage, records that a probe failed. The next probe is due after `probe_in_ms`. */
  note(platform: string, reason: OutageReason, words: string, probe_in_ms: number): Promise<void>;
  /**
   * Returns true if a probe is due, but only to one caller. The next probe is then due after `lease_ms`, in case the
   * process that probes dies. False if no probe is due, or if there is no outage.
   */
  takeProbe(platform: string, lease_ms: number): Promise<boolean>;
  /** Makes the next probe due now. False if there is no outage. */
  hurry(platform: string): Promise<boolean>;
  /** Ends an outage. False if there is none. */
  end(platform: string): Promise<boolean>;
}

/** `unreachable`: the platform gives no usable answer. `credentials`: it refuses the channel's own credentials. */
export type OutageReason = 'unreachable' | 'credentials';

export interface Outage {
  platform: string;
  reason: OutageReason;
  /** The last answer or error of the platform, for operators; never contains a secret. */
  words: string;
  since: number;
  /** The number of failed probes. */
  probes: number;
  probe_at: number;
}
