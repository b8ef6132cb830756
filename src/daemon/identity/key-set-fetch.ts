const MAX_BYTES = 262_144;

export interface KeySetSource {
  /**
   * Fetches a key set; jose gets this function as its `customFetch`, and adds the timeout. Any answer other than a 200
   * of limited size is an error.
   */
  fetch(url: string, options: RequestInit): Promise<Response>;
  /** Time of the last successful fetch, in ms since the epoch; 0 if there was none. */
  fetchedAt(): number;
  /** Time at which the last fetch failed, in ms since the epoch; 0 if it did not fail. */
  failedAt(): number;
}

/**
 * Fetches a key set within limits. After a failure, there is no new attempt for as long as the failed attempt took: an
 * issuer that does not answer must not hold up each message, but an issuer that recovers should be used again soon.
 * Redirects are answers other than 200, so they are not followed: only the configured address may decide which keys the
 * daemon trusts.
 */
export function boundedFetch(): KeySetSource {
  let fetchedAt = 0;
  let failure: { at: number; until: number; cause: unknown } | undefined;
  return {
    fetchedAt: () => fetchedAt,
    failedAt: () => failure?.at ?? 0,
    async fetch(url, options) {
      const begun = Date.now();
      // If the clock was set back since the failure, it does not show how long ago the failure was. The fetch is then
      // attempted.
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
