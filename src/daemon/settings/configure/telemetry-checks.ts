import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  COMPRESSIONS,
  exportsTraces,
  PROTOCOLS,
  parsePairs,
  SAMPLERS,
} from '../../telemetry/telemetry-options.ts';
import { isHeader } from '../../tools/downstream/headers.ts';
import { isLoopback } from '../addresses.ts';
import type { Validation } from '../check.ts';
import type { Settings } from '../settings.ts';

const CHOICES = [
  ['OTEL_EXPORTER_OTLP_PROTOCOL', PROTOCOLS],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', PROTOCOLS],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', COMPRESSIONS],
  ['OTEL_EXPORTER_OTLP_TRACES_COMPRESSION', COMPRESSIONS],
  ['OTEL_TRACES_SAMPLER', SAMPLERS],
] as const;

const FILES = [
  'OTEL_EXPORTER_OTLP_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_KEY',
  'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY',
] as const;

const HEADERS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'] as const;

/**
 * Checks the settings of agentd-telemetry(7). They are checked only if traces are exported, since other programs read
 * the same variables.
 */
export function checkTelemetrySettings(validation: Validation): void {
  const exports = exportsTraces({
    OTEL_EXPORTER_OTLP_ENDPOINT: validation.value('OTEL_EXPORTER_OTLP_ENDPOINT'),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: validation.value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'),
    OTEL_TRACES_EXPORTER: validation.value('OTEL_TRACES_EXPORTER') ?? 'otlp',
    OTEL_SDK_DISABLED: validation.value('OTEL_SDK_DISABLED') ?? false,
  });
  if (!exports) return;
  for (const [name, choices] of CHOICES) {
    const value = validation.value(name);
    if (value !== undefined && !(choices as readonly string[]).includes(value))
      validation.refuse(name, 'is not one of the known values', `one of ${choices.join(', ')}`);
  }
  const exporter = validation.value('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (exporter !== 'otlp')
    validation.refuse('OTEL_TRACES_EXPORTER', 'is not one of the known values', 'otlp or none');
  checkPairs(validation, 'OTEL_RESOURCE_ATTRIBUTES', validation.value('OTEL_RESOURCE_ATTRIBUTES'));
  for (const name of HEADERS) checkPairs(validation, name, validation.value(name)?.reveal(), isHeader);
  warnOfPlainHeaders(validation);
  for (const name of FILES) {
    const path = validation.value(name);
    if (path !== undefined && !existsSync(resolve(validation.cwd, path)))
      validation.refuse(name, 'is not the path of a file', 'the path of a PEM file');
  }
  if (validation.value('OTEL_GENAI_CAPTURE_CONTENT') === true)
    validation.warn(
      'OTEL_GENAI_CAPTURE_CONTENT: traces contain the texts of people and the results of tools',
    );
}

function checkPairs(
  validation: Validation,
  name: keyof Settings,
  text: string | undefined,
  isRight: (name: string, value: string) => boolean = () => true,
): void {
  if (text === undefined) return;
  const pairs = parsePairs(text);
  if (pairs === null || !pairs.every((pair) => isRight(...pair)))
    validation.refuse(
      name,
      'does not have the right form',
      'name=value pairs separated by commas; values may be percent-encoded',
    );
}

/** Warns about headers that are sent unencrypted, because they often contain a key. */
function warnOfPlainHeaders(validation: Validation): void {
  const header = HEADERS.find((name) => validation.isGiven(name));
  const endpoint =
    validation.value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? validation.value('OTEL_EXPORTER_OTLP_ENDPOINT');
  const url = endpoint === undefined ? null : URL.parse(endpoint);
  if (validation.guarded && header !== undefined && url?.protocol === 'http:' && !isLoopback(url))
    validation.warn(`${header}: the headers are sent to ${url.hostname} unencrypted`);
}
