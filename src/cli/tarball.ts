import { gzipSync } from 'node:zlib';

const BLOCK = 512;
/** Longest name that fits into a plain header, bytes. */
const NAME_MAX = 100;

export interface TarFile {
  /** Folders are separated by `/`. */
  name: string;
  content: Uint8Array;
  isExecutable: boolean;
}

/** A gzipped archive of files in the POSIX format (ustar). Equal files give equal bytes. */
export function tarball(files: readonly TarFile[]): Uint8Array {
  const blocks = files.flatMap((file) => [headerOf(file), file.content, padding(file.content.length)]);
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
}

function headerOf({ name, content, isExecutable }: TarFile): Uint8Array {
  if (Buffer.byteLength(name) > NAME_MAX) throw new Error(`the name ${name} is too long for the archive`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(isExecutable ? 0o755 : 0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(content.length, 12), 124);
  // The time of the file is left out, so that the bytes depend only on the content.
  header.write(octal(0, 12), 136);
  header.write('        0', 148);
  header.write('ustar\0', 257);
  header.write('00', 263);
  // The checksum is computed as if its own field contained spaces.
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function padding(length: number): Uint8Array {
  return Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
}
