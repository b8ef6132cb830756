import { command } from './command.ts';
import type { Agentd } from './daemon.ts';

/** The output of `agentd sessions show --json`, with the members that tests check. */
export interface ShownSession {
  session_id: string;
  state: string;
  turns: {
    text: string;
    reply: string | null;
    outcome: 'answered' | 'failed';
    failure: string | null;
    user_id: string;
    credentials: string;
  }[];
}

/** The session as an operator sees it, while the daemon runs; throws if the command fails. */
export async function showSession(
  daemon: Pick<Agentd, 'directory'>,
  id: string,
  env: Record<string, string> = {},
): Promise<ShownSession> {
  const { code, stdout, stderr } = await command(['sessions', 'show', id, '--json'], {
    cwd: daemon.directory,
    env,
  });
  if (code !== 0) throw new Error(`sessions show ${id}: exit code ${code}\n${stderr}`);
  return JSON.parse(stdout) as ShownSession;
}
