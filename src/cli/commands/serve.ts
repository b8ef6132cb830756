import { environmentAt } from '../../daemon/admin/settings.ts';
import { misconfigured } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';

export const command = defineCommand({
  ignoresDev: true,
  description:
    'Prints the address, the active channels and the backends, then logs to standard error. SIGTERM or SIGINT stops the daemon after the running requests, a second one at once. SIGHUP reads the configuration again.',
  manual: [
    '`--dev` turns all channels on: channels of platforms get generated secrets, for `agentd simulate`. It starts a sample business API on a loopback port and a demo page (/demo), and prints the address of that page, a user token and commands to paste. Unless JWT_SECRET_KEY, JWT_PUBLIC_KEY or JWT_JWKS_URL is set, the loop guard is relaxed: it blocks the 20th identical message, for 5 seconds. The settings are stored in .agentd/env, except secrets that were set explicitly; another command in this directory uses them unless it has --config. If JWT_ALGORITHM is set for this directory, the command needs `--env-file .agentd/env`. Only one `serve --dev` can run in a directory.',
    'After SIGTERM or SIGINT, running requests may finish within SHUTDOWN_GRACE_SECONDS, and new ones get 503. The exit code is 0, or 1 if a request was not answered in that time. A second signal ends the daemon at once with 1. SIGHUP reopens LOG_FILE, for log rotation, and reads the configuration again, as agentd-reload(1) describes; the log has the result. SIGUSR1 does nothing, so that no other program can open the inspector of Node.js.',
    'With ADMIN_LISTEN set, a second listener, which starts first and stops last, answers these requests:',
    [
      '- `GET /live`: 200 while the process runs.',
      '- `GET /ready`: 200 while the daemon should get requests; otherwise 503 and the reason: it is starting or stopping, or its store cannot be written. The status `degraded` names a part without which the daemon serves, such as long-term memory.',
      '- `GET /metrics`: the metrics of agentd-metrics(7).',
    ].join('\n'),
    'After SIGTERM, `/ready` answers 503 for SHUTDOWN_DELAY_SECONDS while requests are still accepted, so that a load balancer stops sending them. Then the daemon refuses new connections, so that a proxy sends the request elsewhere, and closes each open connection after its next answer. It finishes the running requests within the rest of SHUTDOWN_GRACE_SECONDS.',
    'If nobody reads standard error, the daemon keeps up to 1 MiB of log lines and drops newer ones. Once the reader is back, it logs how many lines it dropped. LOG_FILE gets every line.',
    'Under systemd, or another program that sets NOTIFY_SOCKET, the daemon reports that it is ready, alive and stopping. If systemd passes a socket (LISTEN_FDS and LISTEN_PID, sd_listen_fds(3)), the daemon serves on it instead of HOST and PORT, and a restart refuses no connection; see agentd-deploy(7).',
  ].join('\n\n'),
  options: {
    '--dev':
      'Try agentd with nothing set up: a sample shop, all channels, and generated secrets. State and settings are in .agentd/ of the working directory, and other commands there use them. Explicit settings take precedence. Refused if NODE_ENV=production.',
  },
  examples: {
    'agentd serve --dev': 'Tries agentd without any configuration.',
    'agentd serve': 'Runs the daemon with the settings of this directory and of the environment.',
    'agentd serve --config /etc/agentd/agentd.yaml': 'Runs the daemon in production.',
  },
  async run({ options, out }) {
    const location = configLocation(options);
    if (options.dev && (await environmentAt(location)) === 'production') {
      throw misconfigured(
        'serve --dev is refused if NODE_ENV=production',
        'In production, run `agentd serve`.',
      );
    }
    const { runDaemon } = await import('../../daemon/run.ts');
    return runDaemon({ ...location, dev: options.dev === true, print: (text) => out.write(text) });
  },
});
