/**
 * How long a platform asks to wait, for `ChannelScope.deliveryFailed`: `Retry-After` in seconds or as a date (RFC
 * 9110 §10.2.3).
 * @param headers headers of the response, for example of a 429 or a 503
 * @returns whole seconds, 0 or more; undefined if there is no readable value
 */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const words = headers.get('Retry-After')?.trim();
  if (words === undefined) return undefined;
  if (/^\d{1,9}$/.test(words)) return Number(words);
  const at = Date.parse(words);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
