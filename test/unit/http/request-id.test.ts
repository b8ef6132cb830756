import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientAddress } from '../../../src/daemon/http/request-id.ts';

describe('the client address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
    ['2001:DB8:0:1::9', '2001:db8:0:1::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ])('for the socket address %s is %s', (socket, address) => {
    expect(clientAddress(socket, undefined, 0)).toBe(address);
  });

  test('is the same fixed name for all clients that have disconnected, so that their requests are counted', () => {
    expect(clientAddress(undefined, undefined, 0)).toBe('unknown');
  });

  test('ignores X-Forwarded-For if no proxy is trusted', () => {
    expect(clientAddress('10.0.0.1', '192.0.2.1', 0)).toBe('10.0.0.1');
  });

  test.each([
    ['the address that the proxy saw', '203.0.113.9, 192.0.2.1', 1, '192.0.2.1'],
    ['the address that the outer of two proxies saw', 'made-up, 192.0.2.1, 10.0.0.2', 2, '192.0.2.1'],
    ['the leftmost entry, if there are fewer entries than proxies', '192.0.2.1', 3, '192.0.2.1'],
    ['the entry without its port', '192.0.2.1:4711', 1, '192.0.2.1'],
    ['the entry without its brackets', '[2001:db8::1]', 1, '2001:db8:0:0::/64'],
    ['the entry without its brackets and port', '[2001:db8::1]:4711', 1, '2001:db8:0:0::/64'],
    ['the socket address, if the entry is invalid', 'unknown', 1, '10.0.0.1'],
    ['the socket address, if the entry is empty', '192.0.2.1, ', 1, '10.0.0.1'],
    ['the entry to the right of an invalid entry', '192.0.2.1, _hidden, 10.0.0.2', 3, '10.0.0.2'],
  ])('is %s: header %j, %i trusted proxies', (_, forwarded, hops, address) => {
    expect(clientAddress('10.0.0.1', forwarded, hops)).toBe(address);
  });

  test('cannot be changed by entries that a client adds on the left', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (made_up) => {
        expect(clientAddress('10.0.0.1', `${made_up}, 192.0.2.1`, 1)).toBe('192.0.2.1');
      }),
    );
  });

  test('contains only the first four groups of an IPv6 address', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        expect(clientAddress(address, undefined, 0)).toMatch(
          /^(([0-9a-f]{1,4}:){4}:\/64|(\d{1,3}\.){3}\d{1,3})$/,
        );
      }),
    );
  });
});
