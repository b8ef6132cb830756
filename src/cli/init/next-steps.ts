import { join } from 'node:path';
import { fileSettingOf } from '../../daemon/admin/setting-values.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { type Plan, SECRETS } from './planned-files.ts';

/** The next steps for the operator, as lines: first the values to fill in, then the commands to type. */
export function nextSteps(plan: Plan, cwd: string): string[] {
  return [...toFillIn(plan), '', 'Next:', ...commands(plan, cwd).map((line) => `  ${line}`)];
}

/** Directories that the units of the package hide from the service: PrivateTmp= and ProtectHome=. */
const HIDDEN = /^\/(?:tmp|var\/tmp|home|root|run\/user)(?:\/|$)/;

/** A warning if the service could not read its configuration. Null if it can. */
export function hiddenFromService({ directory, form }: Plan): string | null {
  if (form !== 'systemd' || !HIDDEN.test(directory)) return null;
  return `warning: the service cannot read ${printable(directory)}, since its units have PrivateTmp=yes and ProtectHome=yes. Run this again with another --directory.`;
}

function toFillIn({ directory, form, answers: { api }, secrets: { needed, optional } }: Plan): string[] {
  const isEnv = form === 'env';
  const folder = printable(join(directory, SECRETS));
  const place = isEnv ? 'them into .env' : `each into a file of the same name in ${folder}`;
  const [first = ''] = optional;
  const named = isEnv
    ? ''
    : `, and add the path of the file to agentd.yaml (${fileSettingOf(first)}: ${SECRETS}/${first})`;
  const wanted = api !== '' && isEnv ? ['API_EMAIL', ...optional] : optional;
  const email = api === '' || isEnv ? '' : ' Set API_EMAIL in agentd.yaml.';
  return [
    ...(needed.length === 0
      ? []
      : ['', `Get these values from the platforms, and put ${place}: ${needed.join(', ')}.`]),
    ...(wanted.length === 0
      ? []
      : ['', `If your API or model needs these values, put ${place}${named}: ${wanted.join(', ')}.${email}`]),
  ];
}

function commands({ directory, form }: Plan, cwd: string): string[] {
  const config = `--config ${printable(join(directory, 'agentd.yaml'))}`;
  if (form === 'systemd')
    return [
      'useradd --system --home-dir /var/lib/agentd --shell /usr/sbin/nologin agentd',
      `agentd doctor ${config}`,
      `cp ${printable(directory)}/agentd*.service ${printable(directory)}/agentd*.timer /etc/systemd/system/`,
      'systemctl daemon-reload',
      'systemctl enable --now agentd.service agentd-backup.timer',
      `agentd status ${config}`,
      'man agentd-deploy    # a proxy with TLS, monitoring, upgrades',
    ];
  return [
    ...(directory === cwd ? [] : [`cd ${printable(directory)}`]),
    'agentd config check    # are the settings valid?',
    'agentd doctor          # does everything that they name exist and work?',
    'agentd serve           # run it, here',
    'man agentd-deploy      # run it with systemd, in a container or in Kubernetes',
  ];
}
