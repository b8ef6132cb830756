import { afterEach, expect, it, vi } from 'vitest';
import { explainAnswer } from '../../../../src/cli/chat/explain-answer.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { capturedOutput } from '../captured-output.ts';

afterEach(() => vi.unstubAllEnvs());

it('an answer of a daemon elsewhere is not explained, and the chat says where it can be', async () => {
  vi.stubEnv('STATE_DIR', temporaryFolder('explain'));
  const { out } = capturedOutput();
  // `--user` of the chat names the sender. It is no option of `explain` here.
  await expect(explainAnswer('sse_ada_1', { user: 'ada' }, out)).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(/^cannot explain the answer from here: There is no store at /),
    advice:
      'Run this on the machine of the daemon, in its working directory: agentd explain sse_ada_1 --limit 1',
  });
});
