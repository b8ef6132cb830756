import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { Prompt } from '../../../../src/cli/chat/prompt.ts';
import { capture } from '../captured-output.ts';

const you = () => '› ';
const [UP, CTRL_C, CTRL_D] = ['\u{1b}[A', '\u{3}', '\u{4}'];

function prompting() {
  const input = new PassThrough();
  const terminal = capture({ columns: 80 });
  const prompt = new Prompt(input, terminal, ['/new', '/help'], { NO_COLOR: '1' });
  return { input, terminal, prompt };
}

/** Resolves when all earlier input has been processed. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the prompt', () => {
  it('asks for a line', async () => {
    const { input, terminal, prompt } = prompting();
    const line = prompt.line(you);
    input.write('Who am I?\r');
    expect(await line).toBe('Who am I?');
    expect(terminal.text).toContain('› ');
    prompt.close();
  });

  it('recalls earlier lines with the up arrow key', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line(you);
    input.write('one\r');
    await first;
    const second = prompt.line(you);
    input.write(`${UP} more\r`);
    expect(await second).toBe('one more');
    prompt.close();
  });

  it('shows what was typed during an answer only when it asks for the next line', async () => {
    const { input, terminal, prompt } = prompting();
    const first = prompt.line(you);
    input.write('one\r');
    await first;
    const before = terminal.text;
    input.write('two\rthr');
    await settled();
    expect(terminal.text).toBe(before);
    expect(await prompt.line(you)).toBe('two');
    expect(terminal.text).toMatch(/› two\n$/);
    const third = prompt.line(you);
    expect(terminal.text).toMatch(/thr/);
    input.write('ee\r');
    expect(await third).toBe('three');
    prompt.close();
  });

  it('reads several pasted lines one by one', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line(you);
    input.write('one\rtwo\rthree\r');
    expect([await first, await prompt.line(you), await prompt.line(you)]).toEqual(['one', 'two', 'three']);
    prompt.close();
  });

  it('clears the line on Ctrl-C, and ends on Ctrl-C in an empty line', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line(you);
    input.write(`half${CTRL_C}whole\r`);
    expect(await first).toBe('whole');
    const second = prompt.line(you);
    input.write(CTRL_C);
    expect(await second).toBeNull();
    prompt.close();
  });

  it('ends on Ctrl-D, even during an answer', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line(you);
    input.write(`one\r${CTRL_D}`);
    expect(await first).toBe('one');
    await settled();
    expect(await prompt.line(you)).toBeNull();
  });

  it('reports Ctrl-C during an answer, and drops what was typed before it', async () => {
    const { input, prompt } = prompting();
    const first = prompt.line(you);
    input.write('one\r');
    await first;
    let interrupts = 0;
    prompt.interrupted = () => interrupts++;
    input.write(`two\rthree${CTRL_C}`);
    await settled();
    expect(interrupts).toBe(1);
    const next = prompt.line(you);
    input.write('four\r');
    expect(await next).toBe('four');
    prompt.close();
  });

  it('asks for a secret, which is neither shown nor recalled', async () => {
    const { input, terminal, prompt } = prompting();
    const first = prompt.line(you);
    input.write('one\r');
    await first;
    const secret = prompt.secret('Token: ');
    input.write('s3cret\r');
    expect(await secret).toBe('s3cret');
    const next = prompt.line(you);
    input.write(`${UP}\r`);
    expect(await next).toBe('one');
    expect(terminal.text).toContain('Token: \n');
    expect(terminal.text).not.toContain('s3cret');
    prompt.close();
  });

  it('completes commands with the tab key', async () => {
    const { input, prompt } = prompting();
    const line = prompt.line(you);
    // Pasted text may contain tabs, so only a tab that arrives alone completes.
    for (const key of ['/ne', '\t', '\r']) {
      input.write(key);
      await settled();
    }
    expect(await line).toBe('/new');
    prompt.close();
  });

  it('changes its label while the person types', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { input, terminal, prompt } = prompting();
    let left = 2;
    const line = prompt.line(() => `You (${left} min left): `);
    input.write('typed');
    await settled();
    left = 1;
    vi.advanceTimersByTime(15_000);
    expect(terminal.text.split('You (1 min left): ')[1]).toContain('typed');
    input.write('\r');
    expect(await line).toBe('typed');
    prompt.close();
    vi.useRealTimers();
  });
});
