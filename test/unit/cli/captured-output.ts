import { EXIT } from '../../../src/cli/cli-error.ts';
import type { CommandCall, CommandRecord } from '../../../src/cli/command.ts';
import { createOutput, type Output, type Sink } from '../../../src/cli/output.ts';
import { runProgram } from '../../../src/cli/program.ts';

export interface Captured extends Sink {
  text: string;
}

/** A stream that records its output. */
export function capture(terminal?: { columns: number }): Captured {
  const sink: Captured = {
    text: '',
    write(text) {
      sink.text += text;
    },
  };
  return terminal ? Object.assign(sink, { isTTY: true, ...terminal }) : sink;
}

/** The output of one command call, and the text that it wrote. */
export function capturedOutput(options: { json?: boolean } = {}): {
  out: Output;
  stdout: Captured;
  stderr: Captured;
} {
  const stdout = capture();
  const stderr = capture();
  return { out: createOutput({ json: options.json ?? false, stdout, stderr, env: {} }), stdout, stderr };
}

/** Runs a command, as the program does. @returns its exit code */
export async function exitCodeOf(command: CommandRecord, call: CommandCall): Promise<number> {
  return (await command.run(call)) ?? EXIT.ok;
}

/** Runs this command line in the process of the test. */
export async function agentd(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const [stdout, stderr] = [capture(), capture()];
  const code = await runProgram(argv, { stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}
