import { usageError } from '../cli-error.ts';

/** Longest line, in characters: longer than any message may be. */
const LINE_MAX = 262_144;

/**
 * The lines of an input, each as soon as it has arrived. The last line needs no line end.
 * @throws CliError (2) if a line is too long
 */
export async function* readLines(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    yield* lines.map((line) => line.replace(/\r$/, ''));
    if (rest.length > LINE_MAX)
      throw usageError(`a line of standard input is longer than ${LINE_MAX} characters`);
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
