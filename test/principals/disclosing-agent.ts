import type { AgentRuntime } from 'agentd/agent';
import { deedsAskedFor, emailAskedFor, hasToken, MARK, marksIn } from './marks.ts';

/**
 * An agent that discloses everything it is given: its reply contains each mark found in the prompt, in the history, in
 * the claims, and in the results of its tools. It starts with the mark of the message, so that a reply on a platform
 * can be matched to its message, and ends with the marks of the turns that it got as messages, not as quotes from
 * before sign-in.
 */
export default {
  apiVersion: 1,
  async *run({ tools, signal, log: _log, ...given }) {
    const { text, person } = given;
    await ticks(text.length);
    signal.throwIfAborted();
    const told = [JSON.stringify(given)];
    const getUser = tools.find(({ name }) => name === 'get_user');
    const email = emailAskedFor(text);
    for (const args of [{}, ...(email === null ? [] : [{ email }])]) {
      told.push(JSON.stringify(await getUser?.call(args)));
    }
    const order = tools.find(({ name }) => name === 'order');
    for (const item of deedsAskedFor(text)) told.push(JSON.stringify(await order?.call({ item })));
    if (text.endsWith(' fail')) throw new Error('the message asked for a failure');
    const all = told.join('\n');
    const own = MARK.exec(text)?.[0] ?? 'nothing';
    const others = marksIn(all).filter((mark) => mark !== own);
    // Platforms turn addresses into links, so the reply has only the name before the @.
    const [name] = person?.email.split('@') ?? ['nobody'];
    const said = given.history.filter((past) => !past.before_sign_in).map(({ user }) => user);
    const saidMarks = marksIn(said.join(' ')).join(' ');
    yield `${own} for ${name}: ${others.join(' ')}; said ${saidMarks}${hasToken(all) ? ' and a token' : ''}`;
  },
} satisfies AgentRuntime;

/** Lets other work of the process run first, for a varying number of ticks, so that concurrent messages interleave. */
async function ticks(number: number): Promise<void> {
  for (let tick = number % 4; tick > 0; tick--) await new Promise((resolve) => setImmediate(resolve));
}
