import type { Hit } from '../../guard/layers.ts';
import type { Circuit, GuardUser } from '../../guard/verdict.ts';
import type { Packing } from './state-log.ts';
import {
  type CountedHit,
  countHit,
  countSentHit,
  isKept,
  type PackedHits,
  packHits,
  unpackHits,
  type Window,
} from './windows.ts';

/** What is kept of a user between two messages, under the user's key. */
export interface GuardUserState {
  readonly user: Omit<GuardUser, 'key'>;
  readonly circuit: Circuit | null;
  /** Of all messages. */
  readonly burst: readonly CountedHit[];
  /** Of each text, by its hash; few, so that they are looked through. */
  readonly texts: readonly TextHits[];
}

type TextHits = readonly [text: string, hits: readonly CountedHit[]];

interface PackedState {
  user: Omit<GuardUser, 'key'>;
  circuit?: Circuit;
  burst: PackedHits;
  texts: [text: string, hits: PackedHits][];
}

export const GUARD_USER_PACKING: Packing<GuardUserState> = {
  pack({ user, circuit, burst, texts }): PackedState {
    return {
      user,
      ...(circuit && { circuit }),
      burst: packHits(burst),
      texts: texts.map(([text, hits]) => [text, packHits(hits)]),
    };
  },
  unpack({ user, circuit, burst, texts }: PackedState): GuardUserState {
    return {
      user,
      circuit: circuit ?? null,
      burst: unpackHits(burst),
      texts: texts.map(([text, hits]) => [text, unpackHits(hits)]),
    };
  },
};

/** The circuit and the windows of one user, while one message is judged. */
export class GuardUserWindows {
  circuit: Circuit | null;
  #burst: readonly CountedHit[];
  #texts: readonly TextHits[];

  /** @param found null: the user has not been met lately. */
  constructor(found: GuardUserState | null) {
    this.circuit = found?.circuit ?? null;
    this.#burst = found?.burst ?? [];
    this.#texts = found?.texts ?? [];
  }

  hitBurst(window: Window, now: number, sent_at: number | undefined): Hit {
    const { allowed, count, hits } = hit(this.#burst, window, now, sent_at);
    this.#burst = hits;
    return { allowed, count };
  }

  hitEqualText(text: string, window: Window, now: number, sent_at: number | undefined): Hit {
    const before = this.#texts.find(([met]) => met === text)?.[1] ?? [];
    const { allowed, count, hits } = hit(before, window, now, sent_at);
    if (hits.length > 0) this.#texts = [...this.#texts.filter(([met]) => met !== text), [text, hits]];
    return { allowed, count };
  }

  empty(): void {
    this.#burst = [];
    this.#texts = [];
  }

  /** To be kept; texts that nobody can meet again are left out. */
  keep({ key: _, ...user }: GuardUser, repeat_window_ms: number, now: number): GuardUserState {
    const texts = this.#texts.filter(([, hits]) => hits.some((hit) => isKept(hit, repeat_window_ms, now)));
    return { user, circuit: this.circuit, burst: this.#burst, texts };
  }
}

function hit(hits: readonly CountedHit[], window: Window, now: number, sent_at: number | undefined) {
  return sent_at === undefined ? countHit(hits, window, now) : countSentHit(hits, window, now, sent_at);
}
