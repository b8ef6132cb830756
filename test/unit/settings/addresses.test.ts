import { expect, test } from 'vitest';
import { parseListenAddress } from '../../../src/daemon/settings/addresses.ts';

test.each([
  ['127.0.0.1:9464', '127.0.0.1', 9464],
  [':9464', undefined, 9464],
  ['localhost:0', 'localhost', 0],
  ['[::1]:9464', '::1', 9464],
  ['admin.internal:65535', 'admin.internal', 65_535],
])('the address %s has the host %s and the port %i', (text, host, port) => {
  expect(parseListenAddress(text)).toEqual({ host, port });
});

test.each([
  '',
  '9464',
  ':',
  'host:',
  '::1:9464',
  '127.0.0.1:65536',
  ':-1',
  ':1e3',
  'http://host:1',
  'a b:1',
  ':1 ',
])('%j is refused because it is not an address with a port', (text) => {
  expect(parseListenAddress(text)).toBeNull();
});
