import { describe, expect, it } from 'vitest';
import { CliError } from '../../../src/cli/cli-error.ts';
import { createFindings } from '../../../src/cli/doctor/finding.ts';
import { explainError, reportError } from '../../../src/cli/report-error.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { ConfigurationError } from '../../../src/daemon/settings/problem.ts';
import {
  RestoreRefused,
  StoreDamaged,
  StoreLocked,
  StoreMissing,
  StoreOfAnotherLayout,
  StoreTooOld,
} from '../../../src/daemon/store/failures.ts';
import { capture } from './captured-output.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';

function coded(code: string, fields: object = {}): Error {
  return Object.assign(new Error(`${code}: it failed`), { code, ...fields });
}

function configurationError(): Error {
  const error = new Error('JWT_ALGORITHM is not set');
  error.name = 'ConfigurationError';
  return error;
}

describe('report-error', () => {
  it('fits the text to the terminal, and keeps its indentation', () => {
    const problem = {
      setting: 'PORT',
      value: 'x',
      source: '.env',
      problem: 'is no number',
      right: 'a number from 0 on',
    };
    const terminal = capture({ columns: 24 });
    reportError(new ConfigurationError([problem]), terminal);
    expect(terminal.text).toContain('    right: a number from\n    0 on\n');
    const file = capture();
    reportError(new ConfigurationError([problem]), file);
    expect(file.text).toContain('    right: a number from 0 on\n');
  });

  it.each([
    [
      'an expected failure of a command',
      new CliError(2, 'no such thing', 'Try another.'),
      2,
      /^no such thing$/,
    ],
    ['a wrong configuration', configurationError(), 78, /^JWT_ALGORITHM is not set$/],
    ['a missing store', new StoreMissing('/x/agentd.db'), 1, /no store at \/x\/agentd\.db/],
    ['a store that another daemon uses', new StoreLocked('/x/agentd.db'), 69, /Another daemon/],
    [
      'a store of another layout',
      new StoreOfAnotherLayout('/x/agentd.db', 'table x'),
      69,
      /another version of agentd: its layout differs \(table x\)/,
    ],
    ['a server that is too old', new StoreTooOld('6.2.0', '7.0'), 69, /6\.2\.0 is too old/],
    ['a damaged store', new StoreDamaged(new Error('malformed')), 69, /damaged: malformed/],
    [
      'a store that cannot be opened',
      new StoreUnavailable(new Error('database or disk is full')),
      69,
      /disk is full/,
    ],
    [
      'a store that another process has locked',
      new StoreUnavailable(coded('SQLITE_BUSY')),
      69,
      /^another process holds the lock of the database$/,
    ],
    [
      'a port in use',
      coded('EADDRINUSE', { address: '127.0.0.1', port: 8080 }),
      69,
      /in use \(127\.0\.0\.1:8080\)/,
    ],
    [
      'an address of another machine',
      coded('EADDRNOTAVAIL', { address: '192.0.2.1', port: 80 }),
      78,
      /192\.0\.2\.1:80/,
    ],
    [
      'a file without read permission',
      coded('EACCES', { path: '/x/log' }),
      78,
      /permission denied \(\/x\/log\)/,
    ],
    [
      'a daemon that does not run',
      new TypeError('fetch failed', { cause: coded('ECONNREFUSED', { address: '127.0.0.1', port: 8080 }) }),
      69,
      /cannot reach the daemon \(127\.0\.0\.1:8080\)/,
    ],
    [
      'a host with two addresses that both refuse',
      new TypeError('fetch failed', {
        cause: new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]),
      }),
      69,
      /cannot reach the daemon/,
    ],
    [
      'a daemon that does not answer',
      new DOMException('The operation timed out', 'TimeoutError'),
      69,
      /cannot reach the daemon/,
    ],
  ])('reports %s with an exit code, the cause and the remedy', (_what, error, exitCode, message) => {
    const report = explainError(error);
    expect(report.exitCode).toBe(exitCode);
    expect(report.message).toMatch(message);
    expect(report.advice).toMatch(/\S/);
    expect(report.stack).toBeUndefined();
  });

  it('reports an unknown error with its stack, how to report it, and exit code 1', () => {
    const stderr = capture();
    expect(reportError(new RangeError('out of bounds'), stderr)).toBe(1);
    expect(stderr.text).toMatch(/^agentd: unexpected error: out of bounds\nRangeError: out of bounds\n +at /);
    expect(stderr.text).toMatch(/report it/);
  });

  it('prints no token, in any part of the error', () => {
    const stderr = capture();
    reportError(new Error(`cannot use ${TOKEN}`), stderr);
    reportError(new CliError(1, `no session ${TOKEN}`), stderr);
    expect(stderr.text).not.toContain(TOKEN);
    expect(stderr.text).toContain('[token]');
  });

  it('prints no control characters from any part of the error', () => {
    const stderr = capture();
    reportError(new CliError(2, 'no \u001b[31mred\u009b0m \u202e\r', 'a\u0007b\n\tc'), stderr);
    expect(stderr.text).toBe('agentd: no �[31mred�0m ��\na�b\n\tc\n');
  });

  it('reports a thrown value that is not an error', () => {
    expect(explainError('just words')).toMatchObject({
      exitCode: 1,
      message: 'unexpected error: just words',
    });
  });
});

it('the advice for a port in use suits every way to start', () => {
  const { advice } = explainError(coded('EADDRINUSE', { address: '127.0.0.1', port: 8080 }));
  expect(advice).toContain('`PORT=8081` before the command');
  expect(advice).not.toContain('agentd serve');
});

it.each(['EADDRINUSE', 'EADDRNOTAVAIL'])('the advice for %s names the setting with the address', (code) => {
  const advice = (setting: string) => explainError(coded(code, { setting })).advice;
  expect(advice('HOST')).toMatch(/PORT|HOST/);
  expect(advice('HOST')).not.toContain('ADMIN_LISTEN');
  expect(advice('ADMIN_LISTEN')).toContain('ADMIN_LISTEN');
  expect(advice('ADMIN_LISTEN')).not.toMatch(/PORT|HOST/);
});

it('the advice for a backup that cannot be restored says which file or directory is the cause', () => {
  const advice = (cause: Error) => explainError(new RestoreRefused('/x/b.db', 'why', { cause })).advice;
  expect(advice(coded('EROFS', { path: '/x/agentd.db.restored' }))).toMatch(/STATE_DIR has free space/);
  expect(advice(coded('ENOSPC'))).toMatch(/STATE_DIR has free space/);
  expect(advice(coded('EACCES', { path: '/x/b.db' }))).toMatch(/^Name a file/);
});

describe('the advice for a wrong configuration', () => {
  const problem = {
    setting: 'JWT_ALGORITHM',
    value: null,
    source: null,
    problem: 'is not set',
    right: 'HS256',
  };

  it('names the ways to begin if nothing is set', () => {
    const { advice } = explainError(new ConfigurationError([problem]));
    expect(advice).toMatch(/`agentd serve --dev`.*`agentd init`/);
  });

  it('does not name them if a file is wrong, or if only some settings are missing', () => {
    for (const setting of ['agentd.yaml', 'JWT_SECRET_KEY'])
      expect(explainError(new ConfigurationError([{ ...problem, setting }])).advice).toMatch(/^Fix these/);
  });

  it('says where the values come from if something is set', () => {
    const wrong = { ...problem, setting: 'PORT', value: 'x', source: 'environment' };
    expect(explainError(new ConfigurationError([problem, wrong])).advice).toMatch(/^Fix these settings/);
  });
});

describe('advice on a failure', () => {
  it.each([
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'self-signed certificate in certificate chain',
  ])('names the setting for an authority of your own: %s', (failure) => {
    expect(explainError(new StoreUnavailable(new Error(failure))).advice).toContain('NODE_EXTRA_CA_CERTS');
    expect(createFindings('key set').failed(failure, 'Check it.').advice).toContain('NODE_EXTRA_CA_CERTS');
  });

  it.each([
    ['sqlite /x/agentd.db', 'Check that the disk of STATE_DIR has'],
    ['redis', 'Check REDIS_URL, and that'],
    ['redis 127.0.0.1:6379', 'Check REDIS_URL, and that'],
    ['postgres', 'Check DATABASE_URL, and that'],
    ['postgres db.example.com/agentd', 'Check DATABASE_URL, and that'],
  ])('is about the store that cannot be opened: %s', (place, advice) => {
    const error = Object.assign(new StoreUnavailable(new Error('no')), { place });
    expect(explainError(error)).toMatchObject({
      message: `cannot open the store (${place}): no`,
      advice: expect.stringMatching(new RegExp(`^${advice}`)),
    });
  });

  it.each([
    ['redis 127.0.0.1:6379', { name: 'ReplyError' }],
    ['postgres db.example.com/agentd', { severity: 'ERROR' }],
  ])('does not doubt that the server was reached if it has refused: %s', (place, members) => {
    const cause = Object.assign(new Error('OOM command not allowed'), members);
    const error = Object.assign(new StoreUnavailable(cause), { place });
    expect(explainError(error)).toMatchObject({
      message: `cannot open the store (${place}): OOM command not allowed`,
      advice: 'The server answers, but refuses: its message and its log say why.',
    });
  });

  it('does not if the certificate was not the reason', () => {
    expect(explainError(new StoreUnavailable(new Error('ECONNREFUSED'))).advice).not.toContain('CA_CERTS');
    expect(createFindings('key set').failed('it cannot be reached: ENOTFOUND', 'Check it.').advice).toBe(
      'Check it.',
    );
  });
});
