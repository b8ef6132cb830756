import { describe, expect, it } from 'vitest';
import { type Asset, assetResponse } from '../../../plugins/webchat/browser-files.ts';
import type { ChannelRequest } from '../../../src/channel/index.ts';
import { cpuTime } from '../../support/cpu-time.ts';

const ASSET: Asset = {
  type: 'text/javascript',
  etag: '"1"',
  encoded: (['br', 'gzip', 'identity'] as const).map((name) => [name, new Uint8Array()]),
};

function encodingFor(accepted: string) {
  const request = { headers: { 'accept-encoding': accepted } } as unknown as ChannelRequest;
  return assetResponse(ASSET, request, {}).headers?.['Content-Encoding'];
}

describe('the content encoding of a file for browsers', () => {
  it.each([
    ['br, gzip', 'br'],
    [' GZIP ; Q=0.5 , br ; q=0', 'gzip'],
    ['gzip;q=0', undefined],
    ['zstd', undefined],
    ['', undefined],
  ])('for the header %j is %s', (accepted, encoding) => {
    expect(encodingFor(accepted)).toBe(encoding);
  });

  it.each([' ', '\t', ';', ',', ' ;'])('is quickly chosen from a long header of %j', (part) => {
    const header = `a${part.repeat(15_000 / part.length)}a`;
    expect(cpuTime(() => encodingFor(header))).toBeLessThan(100);
  });
});
