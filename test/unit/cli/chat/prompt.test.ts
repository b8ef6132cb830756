import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Prompt } from '../../../../src/cli/chat/screen.ts';
import { capture } from '../captured-output.ts';

const [UP, CTRL_C, CTRL_D] = ['\u{1b}[A', '\u{3}', '\u{4}'];

function prompting() {
  const input = new PassThrough();
  const terminal = capture({ columns: 80 });
  const prompt = new Prompt(input, terminal);
  return { input, terminal, prompt };
}

/** Resolves when all earlier input has been processed. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the prompt', () => {
  it('asks for a line', async () => {
    const { input, terminal, prompt } = prompting();
    const line = prompt.line();
    input.write('Who am I?\r');
    expect(await line).toBe('Who am I?');
    expect(terminal.text).toContain('> ');
    prompt.close();
  });

  it('recalls earlier lines with the up arrow key', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line();
    input.write('one\r');
    await first;
    const second = prompt.line();
    input.write(`${UP} more\r`);
    expect(await second).toBe('one more');
    prompt.close();
  });

  it('shows what was typed during an answer only when it asks for the next line', async () => {
    const { input, terminal, prompt } = prompting();
    const first = prompt.line();
    input.write('one\r');
    await first;
    const before = terminal.text;
    input.write('two\rthr');
    await settled();
    expect(terminal.text).toBe(before);
    expect(await prompt.line()).toBe('two');
    expect(terminal.text).toMatch(/> two\n$/);
    const third = prompt.line();
    expect(terminal.text).toMatch(/thr/);
    input.write('ee\r');
    expect(await third).toBe('three');
    prompt.close();
  });

  it('reads several pasted lines one by one', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line();
    input.write('one\rtwo\rthree\r');
    expect([await first, await prompt.line(), await prompt.line()]).toEqual(['one', 'two', 'three']);
    prompt.close();
  });

  it('clears the line on Ctrl-C, and ends on Ctrl-C in an empty line', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line();
    input.write(`half${CTRL_C}whole\r`);
    expect(await first).toBe('whole');
    const second = prompt.line();
    input.write(CTRL_C);
    expect(await second).toBeNull();
    prompt.close();
  });

  it('ends on Ctrl-D, even during an answer', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line();
    input.write(`one\r${CTRL_D}`);
    expect(await first).toBe('one');
    await settled();
    expect(await prompt.line()).toBeNull();
  });

  it('reports Ctrl-C during an answer, and drops what was typed before it', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line();
    input.write('one\r');
    await first;
    let interrupts = 0;
    prompt.interrupted = () => interrupts++;
    input.write(`two\rthree${CTRL_C}`);
    await settled();
    expect(interrupts).toBe(1);
    const next = prompt.line();
    input.write('four\r');
    expect(await next).toBe('four');
    prompt.close();
  });
});
