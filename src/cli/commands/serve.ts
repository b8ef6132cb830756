import type { Command } from '../command.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { placeOf } from '../settings-place.ts';

export const command: Command = {
  name: 'serve',
  summary: 'Run the daemon in the foreground.',
  ignoresDev: true,
  description:
    'Prints the address, the active channels and the backends, then logs to standard error. SIGTERM or SIGINT stops it: running requests finish within SHUTDOWN_GRACE_SECONDS, new ones get 503, and the exit code is 0; it is 1 when the grace passed with a request unanswered. A second signal ends it at once with 1. SIGHUP opens LOG_FILE anew, for log rotation. If nobody reads standard error, the daemon keeps up to 1 MiB of log lines, drops the newer ones, and logs their number when the reader is back; LOG_FILE gets every line. With ADMIN_LISTEN set, a second listener answers probes: `GET /live` with 200 while the process runs, `GET /ready` with 200 while the daemon should get requests, else with 503 and the reason (it starts, it stops, or its store cannot be written). It is the first part to start and the last to stop. After SIGTERM, `/ready` answers 503 for SHUTDOWN_DELAY_SECONDS while requests are still taken, so that a load balancer stops sending them; then the daemon drains within what is left of SHUTDOWN_GRACE_SECONDS.',
  options: [
    {
      flags: '--dev',
      sentence:
        'Try it with nothing set up: state in .agentd/ of the working directory, a generated secret, every channel on (those of platforms with generated secrets, for `agentd simulate`), a sample business API on a loopback port, a page to try it with (/demo); prints its address, a ready user token and lines to paste. The loop guard is relaxed: it blocks the 20th equal message, for 5 seconds. The settings are kept in .agentd/env, secrets that were set explicitly excepted; other commands in this directory find them there. Only one `serve --dev` can run in a directory. What is set explicitly wins. Refused under NODE_ENV=production.',
    },
  ],
  examples: [
    { line: 'agentd serve --dev', does: 'Tries agentd with nothing configured.' },
    { line: 'agentd serve --config /etc/agentd/agentd.yaml', does: 'Runs it in production.' },
  ],
  async run({ options, out }) {
    const place = placeOf(options);
    const { environmentAt } = await import('../../daemon/configuration/configure.ts');
    if (options.dev && (await environmentAt(place)) === 'production') {
      throw new CliError(
        EXIT.config,
        'serve --dev is refused under NODE_ENV=production',
        'Run `agentd serve` there.',
      );
    }
    const { runDaemon } = await import('../../daemon/run.ts');
    return runDaemon({ ...place, dev: options.dev === true, print: (text) => out.write(text) });
  },
};
