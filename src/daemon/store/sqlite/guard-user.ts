import type { Hit } from '../../guard/layers.ts';
import type { Circuit } from '../../guard/verdict.ts';
import {
  type CountedHit,
  countHit,
  countSentHit,
  isKept,
  packHits,
  unpackHits,
  type Window,
} from './windows.ts';

/** What is kept of a user between two messages, as its columns hold it. */
export interface GuardUserState {
  circuit: string | null;
  windows: string;
}

/** The windows as JSON, hits packed: of all messages, and of each text by its hash. */
interface PackedWindows {
  burst: string;
  texts: Record<string, string>;
}

/** The circuit and the windows of one user, while one message is judged. */
export class GuardUserWindows {
  circuit: Circuit | null;
  #burst: readonly CountedHit[];
  readonly #texts: Map<string, readonly CountedHit[]>;

  /** @param found null: the user has not been met lately. */
  constructor(found: GuardUserState | null) {
    const { burst, texts }: PackedWindows = found ? JSON.parse(found.windows) : { burst: '[[]]', texts: {} };
    this.circuit = found?.circuit ? (JSON.parse(found.circuit) as Circuit) : null;
    this.#burst = unpackHits(burst);
    this.#texts = new Map(Object.entries(texts).map(([text, hits]) => [text, unpackHits(hits)]));
  }

  hitBurst(window: Window, now: number, sent_at: number | undefined): Hit {
    const { allowed, count, hits } = hit(this.#burst, window, now, sent_at);
    this.#burst = hits;
    return { allowed, count };
  }

  hitEqualText(text: string, window: Window, now: number, sent_at: number | undefined): Hit {
    const { allowed, count, hits } = hit(this.#texts.get(text) ?? [], window, now, sent_at);
    if (hits.length > 0) this.#texts.set(text, hits);
    return { allowed, count };
  }

  empty(): void {
    this.#burst = [];
    this.#texts.clear();
  }

  /** To be kept; texts that nobody can meet again are left out. */
  pack(repeat_window_ms: number, now: number): GuardUserState {
    const texts = [...this.#texts].filter(([, hits]) =>
      hits.some((hit) => isKept(hit, repeat_window_ms, now)),
    );
    const windows: PackedWindows = {
      burst: packHits(this.#burst),
      texts: Object.fromEntries(texts.map(([text, hits]) => [text, packHits(hits)])),
    };
    return { circuit: this.circuit && JSON.stringify(this.circuit), windows: JSON.stringify(windows) };
  }
}

function hit(hits: readonly CountedHit[], window: Window, now: number, sent_at: number | undefined) {
  return sent_at === undefined ? countHit(hits, window, now) : countSentHit(hits, window, now, sent_at);
}
