import type { Hit } from '../../guard/layers.ts';
import type { Circuit, GuardUser } from '../../guard/verdict.ts';
import type { Packing } from './state-log.ts';
import {
  type CountedHit,
  type PackedHits,
  packHits,
  SlidingWindow,
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

/** One message more in both windows. */
export type GuardUserHit = [text: string, burst: PackedHit, equal: PackedHit];

type PackedHit = [at: number, late?: number];

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
  apply({ burst, texts }, [text, inBurst, equal]) {
    burst.add(unpackHit(inBurst));
    const window = texts.get(text) ?? new SlidingWindow();
    window.add(unpackHit(equal));
    texts.delete(text);
    texts.set(text, window);
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
  #burst: CountedHit | null = null;

  /**
   * @param found null: the user has not been met lately.
   * @param sent_at undefined: now.
   */
  constructor(user: GuardUser, found: GuardUserState | null, now: number, sent_at: number | undefined) {
    const { key: _, ...named } = user;
    this.state = found ?? { user: named, circuit: null, burst: new SlidingWindow(), texts: new Map() };
    // One person may have several names on a channel.
    this.change = found?.user.user_id === user.user_id ? null : 'all';
    this.state.user = named;
    this.#now = now;
    this.#sent_at = sent_at;
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
    if (added === null) return hit;
    texts.delete(text);
    texts.set(text, hits);
    this.#forgetTexts(window);
    if (this.change === null && this.#burst) this.change = [text, packHit(this.#burst), packHit(added)];
    return hit;
  }

  #hit(hits: SlidingWindow, window: Window): WindowHit {
    const sent_at = this.#sent_at;
    return sent_at === undefined ? hits.hit(window, this.#now) : hits.hitSent(window, this.#now, sent_at);
  }

  #anew(): SlidingWindow {
    this.change = 'all';
    return new SlidingWindow();
  }

  /** Those that nobody can meet again, from the one on that was met the longest ago. */
  #forgetTexts(window: Window): void {
    for (const [text, hits] of this.state.texts) {
      if (!hits.isOver(this.#now, window)) return;
      this.state.texts.delete(text);
    }
  }
}

function packHit({ at, counted_at }: CountedHit): PackedHit {
  return counted_at > at ? [at, counted_at - at] : [at];
}

function unpackHit([at, late = 0]: PackedHit): CountedHit {
  return { at, counted_at: at + late };
}
