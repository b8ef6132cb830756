/**
 * How long a platform asks to wait, for `ChannelScope.deliveryFailed`: `Retry-After` in seconds or as a date
 * (RFC 9110 §10.2.3).
 * @param headers of its answer, whatever the status: 503 may carry it as well as 429
 * @returns whole seconds, 0 or more; undefined where it says nothing that can be read
 */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const words = headers.get('Retry-After')?.trim();
  if (words === undefined) return undefined;
  if (/^\d{1,9}$/.test(words)) return Number(words);
  const at = Date.parse(words);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
