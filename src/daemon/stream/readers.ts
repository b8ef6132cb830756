import type { ChannelRequest } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';

/** Maximum number of open readers of one stream. */
export const READERS_PER_STREAM = 64;
/** How long a reader that was refused should wait before it tries again, seconds. */
const RETRY_AFTER_SECONDS = 10;

/** Maximum number of open readers of one client address, unless the channel sets a different number. */
const READERS_PER_CLIENT = 256;

/** A request to read a stream. */
export interface NewReader {
  stream_id: string;
  maxPerClient: number | undefined;
  /**
   * Whether the client brought a valid token. Such a client is not limited, so that anonymous readers of a person's
   * stream cannot keep that person from reading it.
   */
  signedIn: boolean;
}

/**
 * The open readers in this process. Limits how many anonymous readers a stream and a client address may have. A reader
 * with a valid token does not count.
 */
export class Readers {
  readonly #perStream = new Counts();
  readonly #perClient = new Counts();

  /** The number of streams and client addresses with counted readers. */
  get size(): number {
    return this.#perStream.size + this.#perClient.size;
  }

  /**
   * Counts a request as a reader until it is ended or its client disconnects. A HEAD request is not counted.
   * @returns a function to call when the reader has left; calling it again has no effect.
   * @throws `too_many_readers`
   */
  enter(
    request: Pick<ChannelRequest, 'method' | 'address' | 'signal'>,
    { stream_id, signedIn, maxPerClient = READERS_PER_CLIENT }: NewReader,
  ): () => void {
    const { method, address } = request;
    if (signedIn || method === 'HEAD') return () => undefined;
    if (this.#perStream.of(stream_id) >= READERS_PER_STREAM)
      throw tooMany(`This stream has ${READERS_PER_STREAM} open readers already.`);
    if (this.#perClient.of(address) >= maxPerClient)
      throw tooMany(`Your address has ${maxPerClient} open streams already.`);
    this.#perStream.add(stream_id, 1);
    this.#perClient.add(address, 1);
    let reads = true;
    const leave = () => {
      if (!reads) return;
      reads = false;
      this.#perStream.add(stream_id, -1);
      this.#perClient.add(address, -1);
    };
    request.signal.addEventListener('abort', leave, { once: true });
    return leave;
  }
}

class Counts {
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#counts.size;
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, change: number): void {
    const count = this.of(key) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}

function tooMany(detail: string): AgentdError {
  return new AgentdError('too_many_readers', detail, { retryAfter: RETRY_AFTER_SECONDS });
}
