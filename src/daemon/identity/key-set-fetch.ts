const MAX_BYTES = 262_144;

export interface KeySetSource {
  /** For jose's `customFetch`, which adds the time-out. Any answer but a bounded 200 is an error. */
  fetch(url: string, options: RequestInit): Promise<Response>;
  /** When a set last came, in ms since the epoch; 0: never. */
  fetchedAt(): number;
  /** When the last fetch failed, in ms since the epoch; 0: it did not. */
  failedAt(): number;
}

/**
 * Fetches a key set within bounds. After a failure nobody tries again for as long as it took: an issuer that
 * does not answer must not hold up each message, and one that is back at once is believed at once. Redirects
 * are answers other than 200, so they are not followed: whoever answers for the configured address decides
 * whom the daemon believes.
 */
export function boundedFetch(): KeySetSource {
  let fetchedAt = 0;
  let failure: { at: number; until: number; cause: unknown } | undefined;
  return {
    fetchedAt: () => fetchedAt,
    failedAt: () => failure?.at ?? 0,
    async fetch(url, options) {
      const begun = Date.now();
      // If the clock was set back since, it says nothing of how long ago the failure was.
      if (failure && begun >= failure.at && begun < failure.until) throw failure.cause;
      try {
        const body = await read(await fetch(url, options));
        failure = undefined;
        fetchedAt = Date.now();
        return new Response(body);
      } catch (cause) {
        const at = Date.now();
        failure = { at, until: at + (at - begun), cause };
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
