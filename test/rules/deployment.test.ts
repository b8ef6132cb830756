import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, it } from 'vitest';
import type { SettingRecord } from '../../src/channel/index.ts';
import { EXIT } from '../../src/cli/cli-error.ts';
import { COMMANDS } from '../../src/cli/command.ts';
import { loadPlugins } from '../../src/daemon/channels/load.ts';
import { METRICS } from '../../src/daemon/metrics/metric-list.ts';
import { fileSettings } from '../../src/daemon/settings/secret-files.ts';
import { SETTINGS } from '../../src/daemon/settings/settings.ts';
import { containerStages, contextFiles } from '../support/containerfile.ts';
import { filesBelow, ROOT, read } from './source-files.ts';

// Tests of the files in config/ that agentd-deploy(7) describes.

const { plugins } = await loadPlugins({ entries: [], platforms: null, folders: [] });
const records: readonly SettingRecord[] = [...SETTINGS, ...plugins.flatMap(({ plugin }) => plugin.settings)];
const SETTING_NAMES = new Set([...records.map(({ name }) => name), ...fileSettings(records)]);

/** Variables that Node.js or libraries read. They are not settings of agentd. */
const OTHER_VARIABLES = ['NODE_ENV'];

function strangersAmong(names: readonly string[]): string[] {
  return names.filter((name) => !SETTING_NAMES.has(name) && !OTHER_VARIABLES.includes(name));
}

function defaultOf(setting: string): number {
  return Number(records.find(({ name }) => name === setting)?.default);
}

/** The seconds in a time as systemd and Compose write it, such as `40s` or `10min`. */
function seconds(span: string): number {
  const [, number, unit = 's'] = /^(\d+)(s|min)?$/.exec(span) ?? [];
  return Number(number) * (unit === 'min' ? 60 : 1);
}

/** Values of a unit file by their key. */
function unit(file: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [, key = '', value = ''] of read(file).matchAll(/^([A-Z]\w*)=(.*)$/gm))
    values.set(key, [...(values.get(key) ?? []), value]);
  return values;
}

const UNITS = ['config/agentd.service', 'config/agentd-backup.service'];
/** The version of `systemd-analyze`, from a line such as `systemd 252 (252.38-1~deb12u1)`; 0 if it is missing. */
const ANALYZE = Number(
  /^systemd (\d+)/.exec(
    spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' }).stdout ?? '',
  )?.[1] ?? 0,
);
/** Versions before 250 cannot check a unit file. The tests are then skipped or, with CI=true, fail. */
const withoutAnalyze = ANALYZE < 250 && process.env.CI !== 'true';

describe.each(UNITS)('%s', (file) => {
  const values = unit(file);

  it.skipIf(withoutAnalyze)('has an exposure level below 2.0 according to systemd', () => {
    const words = ['security', '--offline=true', '--threshold=20', '--no-pager', join(ROOT, file)];
    const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
    expect(stdout).toContain('Overall exposure level');
    expect(status).toBe(0);
  });

  it.skipIf(withoutAnalyze)('has only lines that systemd knows', () => {
    const folder = mkdtempSync(join(ROOT, 'node_modules/.units-'));
    try {
      const path = join(folder, basename(file));
      // Replaces the program with the program of this checkout.
      writeFileSync(path, read(file).replace('=agentd serve', `=${join(ROOT, 'bin/agentd.js')} serve`));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', path], {
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([0, '']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names only settings that exist', () => {
    const names = (values.get('Environment') ?? []).map((line) => line.split('=')[0] ?? '');
    expect(names).toContain('STATE_DIR');
    expect(strangersAmong(names)).toEqual([]);
  });
});

describe('config/agentd.service', () => {
  const values = unit('config/agentd.service');
  const one = (key: string) => values.get(key)?.at(-1) ?? '';

  it('waits until the daemon reports that it is ready, and has a watchdog', () => {
    expect([one('Type'), one('NotifyAccess')]).toEqual(['notify', 'all']);
    expect(seconds(one('WatchdogSec'))).toBeGreaterThan(0);
  });

  it('passes each secret as a credential, and the path of the credential as the setting', () => {
    const credentials = (values.get('LoadCredential') ?? []).map((line) => line.split(':')[0]);
    const files = (values.get('Environment') ?? []).filter((line) => line.includes('_FILE='));
    expect(files).toEqual(credentials.map((name) => `${name}_FILE=%d/${name}`));
    expect(credentials).toEqual(['JWT_SECRET_KEY', 'TOKEN_ENCRYPTION_KEY', 'ADMIN_TOKEN']);
  });

  it('gives the daemon more time to stop than its grace period', () => {
    expect(seconds(one('TimeoutStopSec'))).toBeGreaterThan(defaultOf('SHUTDOWN_GRACE_SECONDS'));
  });

  it('does not restart the daemon if a restart would not help', () => {
    expect(one('RestartPreventExitStatus').split(' ').map(Number)).toEqual([EXIT.usage, EXIT.config]);
  });
});

describe('config/agentd.socket', () => {
  it('has the address that the settings have by default', () => {
    const [host, port] = ['HOST', 'PORT'].map(
      (name) => records.find((record) => record.name === name)?.default,
    );
    expect(unit('config/agentd.socket').get('ListenStream')).toEqual([`${host}:${port}`]);
  });

  it.skipIf(withoutAnalyze)('has only lines that systemd knows, and belongs to the service', () => {
    const folder = mkdtempSync(join(ROOT, 'node_modules/.units-'));
    try {
      const [socket, service] = ['agentd.socket', 'agentd.service'].map((name) => join(folder, name));
      writeFileSync(socket ?? '', read('config/agentd.socket'));
      const text = read('config/agentd.service').replace(
        '=agentd serve',
        `=${join(ROOT, 'bin/agentd.js')} serve`,
      );
      writeFileSync(service ?? '', text);
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', socket ?? ''], {
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([0, '']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

const STAGES = containerStages();
const INSTRUCTIONS = STAGES.flatMap(({ instructions }) => instructions);
const RUNTIME = STAGES.at(-1)?.instructions ?? [];
const inRuntime = (name: string) => RUNTIME.filter(({ word }) => word === name).map(({ rest }) => rest);

describe('config/Containerfile', () => {
  it('uses a Node.js version on which the program runs, in both stages', () => {
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    const [, major = 0, minor = 0] = /^>=(\d+)\.(\d+)$/.exec(engines.node) ?? [];
    const images = INSTRUCTIONS.filter(({ word }) => word === 'FROM').map(({ rest }) => rest.split(' ')[0]);
    expect(images).toHaveLength(2);
    for (const image of images) {
      const [, found = 0] = /\/node:(\d+)-/.exec(image ?? '') ?? [];
      // The tag of the image is a later major version than the required version.
      expect(Number(found)).toBeGreaterThan(Number(major));
    }
    expect(Number(minor)).toBeGreaterThan(0);
  });

  it('copies only files that exist or that the build creates', () => {
    const copied = RUNTIME.filter(({ word }) => word === 'COPY').map(
      ({ rest }) => /^--from=build \/agentd\/(\S+) \.\//.exec(rest)?.[1] ?? rest,
    );
    expect(copied).toContain('dist');
    const made = ['dist', 'node_modules'];
    expect(copied.filter((path) => !made.includes(path) && !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('builds with scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const commands = INSTRUCTIONS.filter(({ word }) => word === 'RUN').map(({ rest }) => rest);
    for (const [, script = ''] of commands.join('\n').matchAll(/npm run (\S+)/g))
      expect(scripts).toHaveProperty(script);
  });

  it('sends the sources and what the build needs to the container engine, and nothing else', () => {
    const files = contextFiles();
    expect([...new Set(files.map((file) => file.split('/')[0]))].toSorted()).toEqual([
      '.ci',
      'bin',
      'config',
      'man',
      'package-lock.json',
      'package.json',
      'plugins',
      'src',
      'tsconfig.build.json',
      'tsconfig.json',
    ]);
  });

  it('runs as a numeric user id, not as root, and checks its health without a shell', () => {
    expect(inRuntime('USER')).toEqual(['10001:10001']);
    expect(inRuntime('HEALTHCHECK')[0]).toMatch(
      / CMD \["node", "--", "bin\/agentd\.js", "status", "--live"\]$/,
    );
    expect(inRuntime('ENTRYPOINT')).toEqual(['["node", "--", "bin/agentd.js"]']);
  });

  it('names only settings that exist', () => {
    const names = inRuntime('ENV').flatMap((line) =>
      line.split(/ +/).map((pair) => pair.split('=')[0] ?? ''),
    );
    expect(names).toContain('STATE_DIR');
    expect(strangersAmong(names)).toEqual([]);
  });

  it('declares no volume, so that the daemon can warn if no volume is mounted', () => {
    expect(inRuntime('VOLUME')).toEqual([]);
  });
});

interface ComposeService {
  image: string;
  user?: string;
  read_only?: boolean;
  cap_drop?: string[];
  stop_grace_period?: string;
  ports?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
}

describe.each(['compose.yaml', 'compose-replicas.yaml'])('config/%s', (file) => {
  const compose = load(read(`config/${file}`)) as {
    services: Record<string, ComposeService>;
    volumes: Record<string, unknown>;
  };
  const daemons = Object.values(compose.services).filter(({ image }) => image === 'agentd');

  it('runs the daemons without privileges, and gives them time to stop', () => {
    expect(daemons).toHaveLength(file === 'compose.yaml' ? 1 : 2);
    for (const daemon of daemons) {
      expect(daemon).toMatchObject({ user: '10001:10001', read_only: true, cap_drop: ['ALL'] });
      expect(seconds(daemon.stop_grace_period ?? '')).toBeGreaterThan(defaultOf('SHUTDOWN_GRACE_SECONDS'));
    }
  });

  it('names only settings that exist', () => {
    const names = daemons.flatMap(({ environment = {} }) => Object.keys(environment));
    expect(names).toContain('TRUST_PROXY');
    expect(strangersAmong(names)).toEqual([]);
  });

  it('publishes the admin listener only to this machine, if at all', () => {
    const ports = daemons.flatMap(({ ports = [] }) => ports);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it('mounts only its volumes, files of config/, and files that agentd-deploy(7) asks operators to create', () => {
    const sources = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(':')[0] ?? ''),
    );
    const volumes = sources.filter((source) => !source.startsWith('.'));
    expect([...new Set(volumes)].toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
    const made = ['./agentd.yaml', './secrets'];
    const files = sources.filter((source) => source.startsWith('./') && !made.includes(source));
    expect(files.filter((path) => !existsSync(join(ROOT, 'config', path)))).toEqual([]);
  });
});

describe('config/nginx-replicas.conf', () => {
  it('passes requests to the daemons of config/compose-replicas.yaml, on the published port', () => {
    const { services } = load(read('config/compose-replicas.yaml')) as {
      services: Record<string, ComposeService>;
    };
    const text = read('config/nginx-replicas.conf');
    const upstream = [...text.matchAll(/^ +server (\S+):(\d+)/gm)].map(([, name, port]) => [
      name,
      Number(port),
    ]);
    const daemons = Object.keys(services).filter((name) => services[name]?.image === 'agentd');
    expect(upstream).toEqual(daemons.map((name) => [name, defaultOf('PORT')]));
    const [, listens] = /^ +listen (\d+);/m.exec(text) ?? [];
    expect(services.proxy?.ports).toEqual([`8080:${listens}`]);
  });
});

/** The Kubernetes schemas of the kinds that are used, and the modules of their types. */
const KINDS = {
  Deployment: { schema: Deployment, types: 'apps/v1' },
  HorizontalPodAutoscaler: { schema: HorizontalPodAutoscaler, types: 'autoscaling/v2' },
  NetworkPolicy: { schema: NetworkPolicy, types: 'networking.k8s.io/v1' },
  PodDisruptionBudget: { schema: PodDisruptionBudget, types: 'policy/v1' },
  Service: { schema: Service, types: 'v1' },
};

interface Manifest {
  apiVersion: string;
  kind: keyof typeof KINDS;
}

/** Files that are no manifests: kustomization.yaml makes a ConfigMap of the settings. */
const OTHER_FILES = ['config/kubernetes/agentd.yaml', 'config/kubernetes/kustomization.yaml'];
const FILES = filesBelow('config/kubernetes').filter((file) => !OTHER_FILES.includes(file));
const MANIFESTS = FILES.flatMap((file) => loadAll(read(file)) as Manifest[]);

function manifest<Kind extends keyof typeof KINDS>(kind: Kind): InstanceType<(typeof KINDS)[Kind]['schema']> {
  const found = MANIFESTS.filter((one) => one.kind === kind);
  if (found.length !== 1) throw new Error(`there are ${found.length} manifests of the kind ${kind}`);
  return found[0] as unknown as InstanceType<(typeof KINDS)[Kind]['schema']>;
}

describe('config/kubernetes', () => {
  it('has one manifest of each kind, in a file with the name of the kind', () => {
    expect(MANIFESTS.map(({ kind }) => `config/kubernetes/${kind.toLowerCase()}.yaml`)).toEqual(FILES);
    expect(MANIFESTS.map(({ kind }) => kind).toSorted()).toEqual(Object.keys(KINDS));
  });

  it.each(MANIFESTS)('$kind is valid according to the Kubernetes schema', (one) => {
    const { schema: Schema, types } = KINDS[one.kind];
    expect(one.apiVersion).toBe(types);
    // biome-ignore lint/suspicious/noExplicitAny: the schema itself checks the object.
    expect(() => new Schema(one as any).validate()).not.toThrow();
  });

  it('has only fields that Kubernetes knows', () => {
    const [first] = MANIFESTS;
    const wrong = { ...first, metadata: { name: 'x', lables: {} } } as unknown as Manifest;
    // The compiler reports only the wrong manifest.
    expect(compile([...MANIFESTS, wrong])).toMatch(
      /^\S+ error TS\d+: [^\n]*'"lables"' does not exist[^\n]*\n$/,
    );
  });

  const pod = manifest('Deployment').spec?.template.spec;
  const container = pod?.containers[0];

  it('passes only existing settings to the daemon, and gives it more time to stop than its grace period', () => {
    const settings = load(read('config/kubernetes/agentd.yaml')) as Record<string, number>;
    const names = [...Object.keys(settings), ...(container?.env ?? []).map(({ name }) => name)];
    expect(names).toEqual(
      expect.arrayContaining(['ADMIN_LISTEN', 'ADMIN_TOKEN_FILE', 'JWT_SECRET_KEY_FILE', 'REDIS_URL_FILE']),
    );
    expect(strangersAmong(names)).toEqual([]);
    const { SHUTDOWN_DELAY_SECONDS: delay = 0, SHUTDOWN_GRACE_SECONDS: grace = 0 } = settings;
    expect(delay).toBeLessThan(grace);
    expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(grace);
  });

  it('applies every manifest, and restarts the pods if the settings change', () => {
    const { resources, configMapGenerator } = load(read('config/kubernetes/kustomization.yaml')) as {
      resources: string[];
      configMapGenerator: { name: string; files: string[]; options: object }[];
    };
    expect(resources.map((file) => `config/kubernetes/${file}`).toSorted()).toEqual(FILES);
    const [settings, ...others] = configMapGenerator;
    expect(others).toEqual([]);
    expect(settings?.files).toEqual(['agentd.yaml']);
    // Without the suffix, the pods would keep the settings with which they were started.
    expect(settings?.options).not.toHaveProperty('disableNameSuffixHash');
    const [mounted] = pod?.volumes?.filter(({ configMap }) => configMap !== undefined) ?? [];
    expect(mounted?.configMap?.name).toBe(settings?.name);
    const mount = container?.volumeMounts?.find(({ name }) => name === mounted?.name);
    expect(mount?.subPath).toBe('agentd.yaml');
  });

  it('lets the pods reach what the settings name, and the collector of traces', () => {
    const ports = manifest('NetworkPolicy').spec?.egress?.flatMap(({ ports = [] }) =>
      ports.map(({ port }) => port),
    );
    expect(ports).toEqual(expect.arrayContaining([53, 443, 4318, 5432, 6379]));
  });

  it('probes the admin port, and exposes only the other port through the Service', () => {
    const { startupProbe, readinessProbe, livenessProbe, ports, env } = container ?? {};
    expect([startupProbe, readinessProbe, livenessProbe].map((probe) => probe?.httpGet)).toEqual([
      { path: '/ready', port: 'admin' },
      { path: '/ready', port: 'admin' },
      { path: '/live', port: 'admin' },
    ]);
    const admin = ports?.find(({ name }) => name === 'admin');
    expect(env?.find(({ name }) => name === 'ADMIN_LISTEN')?.value).toBe(`:${admin?.containerPort}`);
    expect(ports?.find(({ name }) => name === 'http')?.containerPort).toBe(defaultOf('PORT'));
    expect(manifest('Service').spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });

  it('follows the restricted profile of the Pod Security Standards', () => {
    expect(pod?.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod?.automountServiceAccountToken).toBe(false);
    const user = inRuntime('USER')[0]?.split(':').map(Number);
    expect([pod?.securityContext?.runAsUser, pod?.securityContext?.runAsGroup]).toEqual(user);
  });

  it('selects the pods of the Deployment', () => {
    const labels = { 'app.kubernetes.io/name': 'agentd' };
    expect(manifest('Deployment').spec?.template.metadata?.labels).toEqual(labels);
    expect(manifest('Deployment').spec?.selector.matchLabels).toEqual(labels);
    expect(manifest('Service').spec?.selector).toEqual(labels);
    expect(manifest('PodDisruptionBudget').spec?.selector?.matchLabels).toEqual(labels);
    expect(manifest('NetworkPolicy').spec?.podSelector?.matchLabels).toEqual(labels);
  });

  it('scales by metrics that the daemon exposes and the adapter serves', () => {
    const scaled = manifest('HorizontalPodAutoscaler').spec?.metrics?.map(({ pods }) => pods?.metric.name);
    expect(scaled).toEqual(['agentd_runs', 'agentd_inbox_oldest_seconds']);
    const gauges = METRICS.filter(({ kind }) => kind === 'gauge').map(({ name }) => name as string);
    expect(scaled?.filter((name) => !gauges.includes(name ?? ''))).toEqual([]);
    const adapter = load(read('config/prometheus-adapter.yaml')) as {
      rules: { custom: { seriesQuery: string }[] };
    };
    expect(adapter.rules.custom.map(({ seriesQuery }) => seriesQuery.split('{')[0])).toEqual(scaled);
  });
});

describe('agentd-deploy(7)', () => {
  const page = read('man/agentd-deploy.7.md');

  it('names only existing files of config/, and all except those that other pages describe', () => {
    const named = [...page.matchAll(/\bconfig\/([\w.-]+)/g)].map(([, name = '']) => name);
    const files = filesBelow('config').map((file) => file.split('/')[1] ?? '');
    expect(named.filter((name) => !files.includes(name))).toEqual([]);
    const elsewhere = [
      'agentd.example.yaml',
      'eval',
      'texts.de.yaml',
      'texts.es.yaml',
      'teamchat-manifest.json',
    ];
    expect(files.filter((name) => !named.includes(name) && !elsewhere.includes(name))).toEqual([]);
  });

  it('uses commands that exist', () => {
    const typed = [...page.matchAll(/(?:^ *(?:\$ )?|`|[|&;] )agentd (?!at http)([a-z]+(?: [a-z]+)?)/gm)].map(
      ([, words = '']) => words,
    );
    expect(typed.length).toBeGreaterThan(20);
    const known = COMMANDS.map(({ name }) => name);
    const strangers = typed.filter(
      (words) => !known.includes(words) && !known.includes(words.split(' ')[0] ?? ''),
    );
    expect(strangers).toEqual([]);
  });
});

/** Compiles the manifests as objects of their types, which know every field. Returns the output of the compiler. */
function compile(manifests: readonly Manifest[]): string {
  const lines = manifests.map(
    (one, index) =>
      `export const m${index}: import('kubernetes-models/${KINDS[one.kind].types}/${one.kind}').I${one.kind} = ${JSON.stringify(one)};`,
  );
  const folder = mkdtempSync(join(ROOT, 'node_modules/.manifests-'));
  try {
    const file = join(folder, 'manifests.ts');
    writeFileSync(file, lines.join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--ignoreConfig'];
    const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), [...options, file], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
