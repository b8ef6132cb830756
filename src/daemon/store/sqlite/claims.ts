import { type Clock, randomSuffix } from '../../time/clock.ts';
import { CLAIM_MS } from '../claims.ts';
import type { GroupCommit, Resident } from './writer.ts';

interface Held<Detail> {
  readonly owner: string;
  readonly detail: Detail;
  expires_at: number;
}

/**
 * The claims of one kind, in memory: only one daemon uses the file, so its claims end with its process. A name takes
 * memory only while it is claimed.
 *
 * Claims that begin or end together with a commit are staged in the commit. If the commit is undone, they are undone,
 * too.
 */
export class Claims<Detail = null> implements Resident {
  readonly #held = new Map<string, Held<Detail>>();
  /** The claims that the current commit changes, by name. Null: the commit ends the claim. */
  readonly #staged = new Map<string, Held<Detail> | null>();
  readonly #commit: GroupCommit;
  readonly #clock: Clock;

  constructor(commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    commit.keep(this);
  }

  /** The number of claimed names, including names with an expired claim that nobody has taken over. */
  get size(): number {
    return this.#held.size;
  }

  /** Claims a name. @returns the owner token; null while another caller's claim is valid. */
  take(name: string, detail: Detail): string | null {
    this.#commit.expectOpen();
    if (this.isValid(name)) return null;
    const held = this.#new(detail);
    this.#held.set(name, held);
    return held.owner;
  }

  /** Whether a claim still belongs to this owner. An expired claim is kept until another caller takes it over. */
  holds(name: string, owner: string): boolean {
    return this.#find(name)?.owner === owner;
  }

  /** Whether somebody has a claim that has not expired. */
  isValid(name: string): boolean {
    const held = this.#find(name);
    if (!held) return false;
    const now = this.#now();
    // If the clock was set back, the claim must not be valid for longer than CLAIM_MS.
    held.expires_at = Math.min(held.expires_at, now + CLAIM_MS);
    return held.expires_at > now;
  }

  /** The detail that is stored with the claim of a name, even if the claim has expired; null if there is no claim. */
  detailOf(name: string): Detail | null {
    return this.#find(name)?.detail ?? null;
  }

  /** Like `detailOf`, but null if the claim expired more than `after_ms` ago. */
  detailFor(name: string, after_ms: number): Detail | null {
    const held = this.#find(name);
    return held && held.expires_at + after_ms > this.#now() ? held.detail : null;
  }

  renew(name: string, owner: string): boolean {
    this.#commit.expectOpen();
    const held = this.#find(name);
    if (held?.owner !== owner) return false;
    held.expires_at = this.#now() + CLAIM_MS;
    return true;
  }

  release(name: string, owner: string): void {
    if (this.holds(name, owner)) this.#held.delete(name);
  }

  /** Within a commit: the name is claimed as soon as the commit is durable. @returns the owner token. */
  begin(name: string, detail: Detail): string {
    const held = this.#new(detail);
    this.#staged.set(name, held);
    return held.owner;
  }

  /** Within a commit: the claim of the name, if there is one, ends as soon as the commit is durable. */
  end(name: string): void {
    this.#staged.set(name, null);
  }

  committed(): void {
    if (this.#staged.size === 0) return;
    for (const [name, held] of this.#staged) {
      if (held) this.#held.set(name, held);
      else this.#held.delete(name);
    }
    this.#staged.clear();
  }

  undone(): void {
    this.#staged.clear();
  }

  #find(name: string): Held<Detail> | undefined {
    const staged = this.#staged.get(name);
    return staged === undefined ? this.#held.get(name) : (staged ?? undefined);
  }

  #new(detail: Detail): Held<Detail> {
    return { owner: randomSuffix(), detail, expires_at: this.#now() + CLAIM_MS };
  }

  /**
   * A steady clock if there is one. The claims belong to this process, so a clock that is set forward must not end
   * them: the owners are still running.
   */
  #now(): number {
    return this.#clock.steady?.() ?? this.#clock.now();
  }
}
