import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { freePorts } from '../support/free-ports.ts';

const SAMPLE = resolve(import.meta.dirname, '../../config/nginx-replicas.conf');
/** nginx may be in a directory that is only in the PATH of root. */
const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

export interface Proxy {
  url: string;
  /** The errors in its log, without refused connections: nginx sent those requests to another replica. */
  errors(): string[];
  stop(): Promise<void>;
}

/** Starts nginx with the sample configuration for replicas, but with these servers. */
export async function startProxy(urls: readonly string[]): Promise<Proxy> {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-proxy-'));
  const [port] = await freePorts(1);
  const sample = readFileSync(SAMPLE, 'utf8');
  const server = /server agentd-1:8080(.*);\n\s*server agentd-2:8080.*;/.exec(sample);
  if (!server) throw new Error('the sample has different servers');
  const servers = urls.map((url) => `server ${new URL(url).host}${server[1]};`).join('\n');
  const site = sample
    .replace(server[0], servers)
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replace('/dev/stdout', join(directory, 'access.log'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(directory, name)};`)
    .join('\n');
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const file = join(directory, 'nginx.conf');
  writeFileSync(
    file,
    `${user} daemon off; worker_processes 1; pid ${join(directory, 'pid')};\nevents { worker_connections 4096; }\nhttp {\nkeepalive_requests 1000000;\n${temporary}\n${site}\n}\n`,
  );
  const log = join(directory, 'error.log');
  const child = execa('nginx', ['-e', log, '-c', file], { env: { PATH }, stdio: 'ignore', reject: false });
  const url = `http://127.0.0.1:${port}`;
  while ((await fetch(url).catch(() => null)) === null) await delay(20);
  return {
    url,
    errors: () =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line !== '' && !line.includes('Connection refused')),
    async stop() {
      child.kill('SIGTERM');
      await child;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
