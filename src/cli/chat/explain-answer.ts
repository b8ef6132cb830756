import { failed } from '../cli-error.ts';
import type { OptionValues } from '../command.ts';
import type { Output } from '../output.ts';
import { explainError } from '../report-error.ts';

/**
 * Explains the last answer of a session, as `agentd explain` does.
 * @param options of `agentd chat`
 * @throws CliError (1) if the traces cannot be read here: the daemon may run on another machine
 */
export async function explainAnswer(
  session_id: string,
  options: OptionValues & { user?: string },
  out: Output,
): Promise<void> {
  const { command } = await import('../commands/explain.ts');
  const { user: _user, ...others } = options;
  try {
    // The command notes how to see more answers, but it has no options here.
    const quiet = { ...out, note: () => undefined };
    await command.run({ args: [session_id], options: { ...others, limit: 1 }, out: quiet });
    out.write('\n');
  } catch (error) {
    throw failed(
      `cannot explain the answer from here: ${explainError(error).message}`,
      `Run this on the machine of the daemon, in its working directory: agentd explain ${session_id} --limit 1`,
      { cause: error },
    );
  }
}
