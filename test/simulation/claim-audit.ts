import { CLAIM_MS } from '../../src/daemon/store/claims/claims.ts';

export type ClaimKind = 'session' | 'key' | 'stream' | 'message';

interface Holder {
  owner: string;
  /** The daemon that has the claim. */
  by: string;
  valid_until: number;
}

/**
 * Derives from the store's answers who has which claim, and therefore which answers are correct. This checks,
 * independently of the store, that two daemons never have the same claim.
 */
export class ClaimAudit {
  readonly #now: () => number;
  readonly #report: (problem: string) => void;
  readonly #isDisturbed: () => boolean;
  readonly #holders = new Map<string, Holder>();
  /** The daemons whose messages wait for a session, and when their places were last renewed. */
  readonly #waiting = new Map<string, Map<string, number>>();

  /** @param isDisturbed whether a fault has occurred; before the first fault, no claim may expire */
  constructor(now: () => number, report: (problem: string) => void, isDisturbed: () => boolean) {
    this.#now = now;
    this.#report = report;
    this.#isDisturbed = isDisturbed;
  }

  /** Records a claim that the store granted. Reports a problem if another owner still had a valid claim. */
  given(kind: ClaimKind, name: string, owner: string, by: string): void {
    const holder = this.#valid(kind, name);
    if (holder)
      this.#report(`the ${kind} ${name} was claimed by ${by} while the claim of ${holder.by} was valid`);
    else this.#expire(kind, name);
    this.#holders.set(keyOf(kind, name), { owner, by, valid_until: this.#now() + CLAIM_MS });
  }

  /** Records that a claim ended because nobody renewed it in time. */
  reaped(kind: ClaimKind, name: string): void {
    this.#expire(kind, name);
    this.ended(kind, name);
  }

  /** Reports a problem if a claim was refused although nobody had it. */
  refused(kind: ClaimKind, name: string): void {
    if (!this.#valid(kind, name))
      this.#report(`the ${kind} ${name} could not be claimed although nobody has it`);
  }

  /**
   * Records that a message must wait for a session. A message that waits at another daemon may get it first.
   * @param at identifies the daemon, and is another one after a restart.
   */
  waits(name: string, at: string): void {
    const waiting = this.#waiting.get(name) ?? new Map<string, number>();
    const isNext = [...waiting].every(([daemon, last]) => daemon === at || last <= this.#now() - CLAIM_MS);
    if (isNext) this.refused('session', name);
    this.queued(name, at);
  }

  /** Records that a message has a place in the line of a session. */
  queued(name: string, at: string): void {
    this.#waiting.set(name, (this.#waiting.get(name) ?? new Map<string, number>()).set(at, this.#now()));
  }

  renewed(kind: ClaimKind, name: string, owner: string, was: boolean): void {
    this.#expect(kind, name, owner, was, 'renewed');
    const holder = this.#holders.get(keyOf(kind, name));
    if (was && holder) holder.valid_until = this.#now() + CLAIM_MS;
    // Who renews the claim of a session also renews the places of its messages.
    if (was && kind === 'session')
      for (const at of this.#waiting.get(name)?.keys() ?? []) this.queued(name, at);
  }

  /** Reports a problem if a write was made without its claim, or was refused although the claim was held. */
  wrote(kind: ClaimKind, name: string, owner: string, was: boolean): void {
    this.#expect(kind, name, owner, was, 'written');
  }

  isHeld(kind: ClaimKind, name: string, owner: string): boolean {
    return this.#holders.get(keyOf(kind, name))?.owner === owner;
  }

  isValid(kind: ClaimKind, name: string): boolean {
    return this.#valid(kind, name) !== null;
  }

  ended(kind: ClaimKind, name: string, owner?: string): void {
    if (owner === undefined || this.isHeld(kind, name, owner)) this.#holders.delete(keyOf(kind, name));
  }

  /** Claims of this kind that nobody has renewed in time. */
  expired(kind: ClaimKind): string[] {
    return [...this.#holders]
      .filter(([key, holder]) => key.startsWith(`${kind} `) && holder.valid_until <= this.#now())
      .map(([key]) => key.slice(kind.length + 1));
  }

  /** Claims that are valid now. */
  held(): string[] {
    return [...this.#holders]
      .filter(([, holder]) => holder.valid_until > this.#now())
      .map(([key, { by }]) => `${key} by ${by}`);
  }

  #expire(kind: ClaimKind, name: string): void {
    const holder = this.#holders.get(keyOf(kind, name));
    if (holder && !this.#isDisturbed())
      this.#report(`${holder.by} did not renew its claim of the ${kind} ${name} in time`);
  }

  #expect(kind: ClaimKind, name: string, owner: string, was: boolean, what: string): void {
    const isHeld = this.isHeld(kind, name, owner);
    if (was === isHeld) return;
    this.#report(
      was
        ? `the ${kind} ${name} was ${what} under a claim that has ended`
        : `the ${kind} ${name} was not ${what} although its claim is held`,
    );
  }

  #valid(kind: ClaimKind, name: string): Holder | null {
    const holder = this.#holders.get(keyOf(kind, name));
    return holder && holder.valid_until > this.#now() ? holder : null;
  }
}

function keyOf(kind: ClaimKind, name: string): string {
  return `${kind} ${name}`;
}
