import type { Hit } from '../../guard/layers.ts';
import type { Circuit, GuardUser } from '../../guard/verdict.ts';
import type { Packing } from './state-log.ts';
import {
  type AddedHit,
  type PackedHit,
  type PackedHits,
  packHit,
  packHits,
  SlidingWindow,
  unpackHit,
  unpackHits,
  type Window,
  type WindowHit,
} from './windows.ts';

/** What is kept of a user between two messages, under the user's key; changed in place. */
export interface GuardUserState {
  user: Omit<GuardUser, 'key'>;
  circuit: Circuit | null;
  /** Of all messages. */
  burst: SlidingWindow;
  /** Of each text, by its hash; the one that was met last stands last. */
  texts: Map<string, SlidingWindow>;
}

/** One message more in both windows; so many texts, from the one on that was met the longest ago, were forgotten. */
export type GuardUserHit = [text: string, burst: PackedHit, equal: PackedHit, forgotten?: number];

interface PackedState {
  user: Omit<GuardUser, 'key'>;
  circuit?: Circuit;
  burst: PackedHits;
  texts: [text: string, hits: PackedHits][];
}

export const GUARD_USER_PACKING: Packing<GuardUserState, GuardUserHit> = {
  pack({ user, circuit, burst, texts }): PackedState {
    return {
      user,
      ...(circuit && { circuit }),
      burst: packHits(burst),
      texts: [...texts].map(([text, hits]) => [text, packHits(hits)]),
    };
  },
  unpack({ user, circuit, burst, texts }: PackedState): GuardUserState {
    return {
      user,
      circuit: circuit ?? null,
      burst: unpackHits(burst),
      texts: new Map(texts.map(([text, hits]) => [text, unpackHits(hits)])),
    };
  },
  apply({ burst, texts }, [text, inBurst, equal, forgotten = 0]) {
    burst.add(unpackHit(inBurst));
    const window = texts.get(text) ?? new SlidingWindow();
    window.add(unpackHit(equal));
    texts.delete(text);
    texts.set(text, window);
    for (const other of [...texts.keys()].slice(0, forgotten)) texts.delete(other);
  },
  size: ({ burst, texts }) => burst.size + texts.size,
};

/** The circuit and the windows of one user, while one message is judged. */
export class GuardUserWindows {
  readonly state: GuardUserState;
  /** What the log lacks: the whole state, or one message more. Null: nothing. */
  change: 'all' | GuardUserHit | null;
  readonly #now: number;
  readonly #sent_at: number | undefined;
  #burst: AddedHit | null = null;

  /**
   * @param found null: the user has not been met lately.
   * @param sent_at undefined: now.
   */
  constructor(user: GuardUser, found: GuardUserState | null, now: number, sent_at: number | undefined) {
    const { key: _, ...named } = user;
    this.state = found ?? { user: named, circuit: null, burst: new SlidingWindow(), texts: new Map() };
    // One person may have several names on a channel, and several addresses.
    this.change = found && isSame(found.user, named) ? null : 'all';
    this.state.user = named;
    this.#now = now;
    this.#sent_at = sent_at;
  }

  /** The circuit that was opened last; if the clock was set back since, it is open no longer than a new one. */
  circuit(): Circuit | null {
    const circuit = circuitAt(this.state.circuit, this.#now);
    if (circuit === this.state.circuit) return circuit;
    this.state.circuit = circuit;
    this.change = 'all';
    return circuit;
  }

  /** Where it was just opened, the windows are emptied. */
  keepCircuit(circuit: Circuit, opened: boolean): void {
    this.state.circuit = circuit;
    this.change = 'all';
    if (!opened) return;
    this.state.burst = new SlidingWindow();
    this.state.texts.clear();
  }

  hitBurst(window: Window): Hit {
    const { state } = this;
    if (state.burst.isAhead(this.#now, window)) state.burst = this.#anew();
    const { added, ...hit } = this.#hit(state.burst, window);
    this.#burst = added;
    return hit;
  }

  hitEqualText(text: string, window: Window): Hit {
    const { texts } = this.state;
    const met = texts.get(text) ?? new SlidingWindow();
    const hits = met.isAhead(this.#now, window) ? this.#anew() : met;
    const { added, ...hit } = this.#hit(hits, window);
    if (added === null) {
      // It was counted in the burst window alone.
      this.change = 'all';
      return hit;
    }
    texts.delete(text);
    texts.set(text, hits);
    const forgotten = this.#forgetTexts(window);
    if (this.change === null && this.#burst) {
      const [burst, equal] = [packHit(this.#burst), packHit(added)];
      this.change = forgotten === 0 ? [text, burst, equal] : [text, burst, equal, forgotten];
    }
    return hit;
  }

  #hit(hits: SlidingWindow, window: Window): WindowHit {
    if (hits.pullBack(this.#now)) this.change = 'all';
    const sent_at = this.#sent_at;
    return sent_at === undefined ? hits.hit(window, this.#now) : hits.hitSent(window, this.#now, sent_at);
  }

  #anew(): SlidingWindow {
    this.change = 'all';
    return new SlidingWindow();
  }

  /** Those that nobody can meet again, from the one on that was met the longest ago. @returns how many. */
  #forgetTexts(window: Window): number {
    let forgotten = 0;
    for (const [text, hits] of this.state.texts) {
      if (!hits.isOver(this.#now, window)) break;
      this.state.texts.delete(text);
      forgotten++;
    }
    return forgotten;
  }
}

/**
 * A circuit as it counts now, by the store's clock. Circuits are opened in the past: if one was opened later
 * than now, the clock was set back, and it counts as opened now; if by more than its length, not at all.
 */
export function circuitAt(circuit: Circuit | null, now: number): Circuit | null {
  if (circuit === null || circuit.opened_at <= now) return circuit;
  const ahead = circuit.opened_at - now;
  if (ahead > circuit.open_until - circuit.opened_at) return null;
  return {
    ...circuit,
    opened_at: now,
    open_until: circuit.open_until - ahead,
    covers_from: circuit.covers_from - ahead,
  };
}

function isSame(a: Omit<GuardUser, 'key'>, b: Omit<GuardUser, 'key'>): boolean {
  return (
    a.platform === b.platform && a.user_id === b.user_id && a.person === b.person && a.address === b.address
  );
}
