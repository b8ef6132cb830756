import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * One directory for all that a run writes, gone with it also where tests were broken off in the middle. What is
 * to be looked at later stays: pictures of the widget, and the compiled code of the tests' own tools.
 */
export default function setup(): () => void {
  process.env.WIDGET_PICTURES ??= join(tmpdir(), 'agentd-widget-pictures');
  process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, '../../dist/.compiled');
  const directory = mkdtempSync(join(tmpdir(), 'agentd-tests-'));
  process.env.TMPDIR = directory;
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}
