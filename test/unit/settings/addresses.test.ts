import { describe, expect, it, test } from 'vitest';
import { parseListenAddress, parseRedisUrl } from '../../../src/daemon/settings/addresses.ts';

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

describe('REDIS_URL', () => {
  it.each([
    ['redis://localhost', { host: 'localhost', port: 6379, db: 0 }],
    ['redis://localhost:6380/3', { host: 'localhost', port: 6380, db: 3 }],
    ['redis://:p%40ss@[::1]:6380/', { host: '::1', port: 6380, password: 'p@ss', db: 0 }],
    ['redis://user:a:b@r', { host: 'r', port: 6379, username: 'user', password: 'a:b', db: 0 }],
    ['rediss://r:6380', { host: 'r', port: 6380, tls: { servername: 'r' }, db: 0 }],
    ['unix:/run/redis.sock', { path: '/run/redis.sock' }],
    ['unix:///run/redis.sock', { path: '/run/redis.sock' }],
  ])('can name a single server: %s', (url, options) => {
    expect(parseRedisUrl(url)).toEqual({ kind: 'single', options });
  });

  it('can name the sentinels of a master', () => {
    expect(parseRedisUrl('redis+sentinel://user:pass@a:26380,b/main/2')).toEqual({
      kind: 'sentinel',
      options: {
        sentinels: [
          { host: 'a', port: 26380 },
          { host: 'b', port: 26379 },
        ],
        name: 'main',
        username: 'user',
        password: 'pass',
        db: 2,
      },
    });
  });

  it('can name the nodes of a Cluster', () => {
    expect(parseRedisUrl('redis+cluster://:pass@a:7000,b')).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 6379 },
      ],
      options: { password: 'pass' },
    });
  });

  it.each([
    ['http://localhost', /does not begin with/],
    ['localhost:6379', /does not begin with/],
    ['redis://', /not a host and a port/],
    ['redis://a b:port', /not a host and a port/],
    ['redis://a:65536', /not a host and a port/],
    ['redis+sentinel://a,b:0/main', /not a host and a port/],
    ['redis://a,b', /several hosts/],
    ['redis://a/first', /database is not a number/],
    ['redis://:secret%zz@a', /% that does not encode a character/],
    ['redis://secret@secret@a', /not a host and a port/],
    ['redis+sentinel://a:26379', /name of the master is missing/],
    ['redis+cluster://a/1', /Cluster has no databases/],
    ['unix:', /path of the socket is missing/],
  ])('is refused with a reason that does not reveal the URL: %s', (url, reason) => {
    expect(() => parseRedisUrl(url)).toThrow(reason);
    expect(() => parseRedisUrl(url)).not.toThrow(/secret/);
  });
});
