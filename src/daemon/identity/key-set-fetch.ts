const MAX_BYTES = 262_144;
/** After a fetch that failed nobody tries again for so long: an issuer's outage must not hold up each message. */
const REST_MS = 5000;

export interface KeySetSource {
  /** For jose's `customFetch`, which adds the time-out. Any answer but a bounded 200 is an error. */
  fetch(url: string, options: RequestInit): Promise<Response>;
  /** When a set last came, in ms since the epoch; 0: never. */
  fetchedAt(): number;
  /** The last fetch failed a moment ago; another would fail at once, with the same error. */
  isResting(): boolean;
}

/**
 * Fetches a key set within bounds. Redirects are answers other than 200, so they are not followed: whoever
 * answers for the configured address decides whom the daemon believes.
 */
export function boundedFetch(): KeySetSource {
  let fetchedAt = 0;
  let failure: { at: number; cause: unknown } | undefined;
  const isResting = () => failure !== undefined && Date.now() - failure.at < REST_MS;
  return {
    fetchedAt: () => fetchedAt,
    isResting,
    async fetch(url, options) {
      if (isResting()) throw failure?.cause;
      try {
        const body = await read(await fetch(url, options));
        failure = undefined;
        fetchedAt = Date.now();
        return new Response(body);
      } catch (cause) {
        failure = { at: Date.now(), cause };
        throw cause;
      }
    },
  };
}

async function read(response: Response): Promise<string> {
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`Expected status 200, got ${response.status}.`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`Expected at most ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
