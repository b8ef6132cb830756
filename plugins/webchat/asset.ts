import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { ChannelRequest, ChannelResponse } from '../../src/channel/index.ts';

/** The folder to which `npm run build` writes files for browsers, relative to the source file or the built file. */
const BUILT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/plugins/webchat/' : './',
  import.meta.url,
);

/** A file for browsers, already compressed. */
export interface Asset {
  type: string;
  etag: string;
  /** By content encoding, best first. `identity` is always present. */
  encoded: readonly (readonly [encoding: 'br' | 'gzip' | 'identity', bytes: Uint8Array])[];
}

/**
 * Reads a built file at once, so that the daemon serves the file of its own build even after an upgrade. It is
 * compressed when it is first requested. A checkout that was not built has no such file: then only requests for it fail.
 * @param name path below the plugin's folder
 * @param rewrite changes the text of the file before it is served
 */
export function loadAsset(
  name: string,
  type: string,
  rewrite: (text: string) => string = (text) => text,
): () => Promise<Asset> {
  const file = new URL(name, BUILT);
  const content = existsSync(file) ? readFileSync(file, 'utf8') : null;
  let asset: Promise<Asset> | undefined;
  return () => {
    if (content === null) throw new Error(`${file.pathname} is missing: run \`npm run build\``);
    asset ??= compressed(Buffer.from(rewrite(content)), type);
    return asset;
  };
}

async function compressed(bytes: Uint8Array, type: string): Promise<Asset> {
  return {
    type: `${type}; charset=utf-8`,
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    encoded: [
      ['br', await promisify(brotliCompress)(bytes)],
      // With less memory, gzip makes shorter blocks, which compress a script that contains a style sheet better.
      ['gzip', await promisify(gzip)(bytes, { level: 9, memLevel: 7 })],
      ['identity', bytes],
    ],
  };
}

/** The response that serves an asset: 304 if the browser has it, else the best encoding that the browser accepts. */
export function assetResponse(
  { type, etag, encoded }: Asset,
  request: ChannelRequest,
  headers: Readonly<Record<string, string>>,
): ChannelResponse {
  const common = { ...headers, ETag: etag, Vary: 'Accept-Encoding' };
  if (request.headers['if-none-match']?.includes(etag)) return { status: 304, headers: common };
  const accepted = encodingsOf(request.headers['accept-encoding']);
  const [encoding, body] = encoded.find(([name]) => accepted.has(name)) ?? ['identity', new Uint8Array()];
  return {
    headers: {
      ...common,
      'Content-Type': type,
      ...(encoding === 'identity' ? {} : { 'Content-Encoding': encoding }),
    },
    body,
  };
}

/** Encodings that the client accepts. An encoding with weight 0 is not accepted. */
function encodingsOf(header = ''): Set<string> {
  const names = header
    .split(',')
    .map((entry) =>
      entry
        .toLowerCase()
        .split(';')
        .map((part) => part.trim()),
    )
    .filter(([, weight = 'q=1']) => Number(weight.slice(2)) > 0)
    .map(([name = '']) => name);
  return new Set([...names, 'identity']);
}
