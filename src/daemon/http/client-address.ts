import { isIPv4, isIPv6 } from 'node:net';

/**
 * The address that limits are counted for: an IPv4 address, or the /64 network of an IPv6 address, since a client can
 * use any address in its network (agentd-service(7), "Rate limit").
 *
 * Every trusted proxy appends the address that called it, so the client is the entry at position `hops` from the right.
 * Entries to the left of it may be forged. An entry that is not an address ends the search: entries to the left of it
 * were not written by a trusted proxy.
 * @param socket address of the other end; undefined after it has disconnected
 * @param forwarded `X-Forwarded-For`, repeated headers joined
 * @param hops TRUST_PROXY
 */
export function clientAddress(
  socket: string | undefined,
  forwarded: string | undefined,
  hops: number,
): string {
  let nearest = networkOf(socket ?? '') ?? 'unknown';
  if (hops === 0 || forwarded === undefined) return nearest;
  const entries = forwarded.split(',');
  for (const entry of entries.reverse().slice(0, hops)) {
    const address = networkOf(withoutPort(entry.trim()));
    if (address === null) return nearest;
    nearest = address;
  }
  return nearest;
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711`, as some proxies write them. */
function withoutPort(entry: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
}

/** The address, or the /64 network of an IPv6 address. Null if the text is not an address. */
function networkOf(text: string): string | null {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return null;
  const groups = groupsOf(text);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return ipv4Of(groups);
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = withoutZone(address).split('::');
  const left = numbersOf(head);
  if (tail === undefined) return left;
  const right = numbersOf(tail);
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? address;
}

function numbersOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

/** The last 32 bits of an IPv4-mapped address. */
function ipv4Of(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
