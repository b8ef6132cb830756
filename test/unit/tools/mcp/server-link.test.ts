import { setImmediate as ioPhase } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { onAbort } from '../../../../src/daemon/time/time-limit.ts';
import type { McpConnection } from '../../../../src/daemon/tools/mcp/connection.ts';
import { ServerLink } from '../../../../src/daemon/tools/mcp/server-link.ts';
import { collectLog } from '../../../support/log-lines.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

let clock: VirtualClock;
let link: ServerLink;
let toolsChanged: () => void;
let ended: AbortController;
const listTools = vi.fn<McpConnection['listTools']>();
const never = new AbortController().signal;

beforeEach(async () => {
  clock = new VirtualClock(0);
  ended = new AbortController();
  listTools.mockReset().mockResolvedValue([]);
  link = new ServerLink({
    async open(hooks) {
      toolsChanged = hooks.toolsChanged;
      return { stateless: false, listTools, callTool: vi.fn(), ended: ended.signal, close: async () => {} };
    },
    listed: async () => {},
    clock,
    log: collectLog().log,
  });
  await link.start();
});
afterEach(() => link.stop());

it('after the server announces a change, the link delays a call until the tools are listed again', async () => {
  expect(await link.isCurrent([never])).toBe(true);
  toolsChanged();
  const settled = vi.fn();
  const waiting = link.isCurrent([never]).then(settled);
  clock.moveTo(999);
  await ioPhase();
  expect(settled).not.toHaveBeenCalled();
  clock.moveTo(1_000);
  await waiting;
  expect(settled).toHaveBeenCalledWith(true);
  expect(listTools).toHaveBeenCalledTimes(2);
});

it('the link lists tools at most once a second, however often the server says that its tools have changed', async () => {
  for (let times = 0; times < 50; times++) toolsChanged();
  clock.moveTo(1_000);
  expect(await link.isCurrent([never])).toBe(true);
  for (let times = 0; times < 50; times++) toolsChanged();
  clock.moveTo(1_999);
  await ioPhase();
  expect(listTools).toHaveBeenCalledTimes(2);
  clock.moveTo(2_000);
  expect(await link.isCurrent([never])).toBe(true);
  expect(listTools).toHaveBeenCalledTimes(3);
});

it('if the server announces a change while the tools are being listed, the link waits for another listing', async () => {
  const first = Promise.withResolvers<[]>();
  listTools.mockReturnValueOnce(first.promise);
  toolsChanged();
  clock.moveTo(1_000);
  await expect.poll(() => listTools.mock.calls).toHaveLength(2);
  toolsChanged();
  const waiting = link.isCurrent([never]);
  first.resolve([]);
  await ioPhase();
  clock.moveTo(2_000);
  expect(await waiting).toBe(true);
  expect(listTools).toHaveBeenCalledTimes(3);
});

it('the link refuses a call after five seconds if the server does not list its tools', async () => {
  listTools.mockImplementationOnce(
    (signal) => new Promise((_, reject) => onAbort(signal, () => reject(signal.reason))),
  );
  toolsChanged();
  const waiting = link.isCurrent([never]);
  clock.moveTo(5_000);
  expect(await waiting).toBe(false);
});

it('if the connection ends after an announced change, the link delays a call until the next connection', async () => {
  toolsChanged();
  const settled = vi.fn();
  const waiting = link.isCurrent([never]).then(settled);
  const { signal } = ended;
  const onEnded = link.isCurrent([never, signal]);
  ended.abort(new Error('the server is gone'));
  ended = new AbortController();
  await expect(onEnded).rejects.toThrow('the server is gone');
  expect(settled).not.toHaveBeenCalled();
  clock.moveTo(2_000);
  await waiting;
  expect(settled).toHaveBeenCalledWith(true);
  expect(listTools).toHaveBeenCalledTimes(2);
});
