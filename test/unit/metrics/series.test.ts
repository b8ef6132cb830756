import { Counter as ReferenceCounter, Histogram as ReferenceHistogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { MetricRecord } from '../../../src/daemon/metrics/metric-list.ts';
import { Counter, Histogram } from '../../../src/daemon/metrics/series.ts';

const record: MetricRecord = {
  name: 'of_a_test',
  kind: 'histogram',
  labels: ['route', 'method'],
  buckets: [0.01, 0.5, 1],
  sentence: 'Of a test, in "quotes".',
};
const { name, sentence: help, labels: labelNames, buckets } = record;
/** Label sets that would be equal if a separator joined their values, and a value that must be escaped. */
const LABELS = [
  { route: '/a', method: 'GET' },
  { route: '/a,method:GET', method: '' },
  { route: '', method: '/a' },
  { route: '"\n\\', method: 'POST' },
];

describe('a histogram', () => {
  it('is written exactly as prom-client writes it', async () => {
    const [registry, expected] = [new Registry(), new Registry()];
    const ours = new Histogram(record, registry);
    const reference = new ReferenceHistogram({
      ...{ name, help, registers: [expected] },
      labelNames: [...labelNames],
      buckets: [...(buckets ?? [])],
    });
    expect(await registry.metrics()).toBe(await expected.metrics());
    // Values on a bound, between two bounds and above the last bound. A clock that is set back causes negative values.
    const seconds = [0.01, 0.0100001, 0.5, 0.75, 1, 1.5, 3600, 0, -1];
    for (const [index, value] of seconds.entries()) {
      const labels = LABELS[index % LABELS.length] ?? {};
      ours.of(labels).observe(value);
      reference.observe(labels, value);
    }
    expect(await registry.metrics()).toBe(await expected.metrics());
  });
});

describe('a counter', () => {
  it('is written exactly as prom-client writes it, however often it is read', async () => {
    const [registry, expected] = [new Registry(), new Registry()];
    const ours = new Counter({ ...record, kind: 'counter' }, registry);
    const reference = new ReferenceCounter({
      ...{ name, help, registers: [expected] },
      labelNames: [...labelNames],
    });
    for (let reading = 0; reading < 3; reading++) {
      for (const [index, labels] of LABELS.entries()) {
        ours.add(labels, index);
        reference.inc(labels, index);
      }
      expect(await registry.metrics()).toBe(await expected.metrics());
    }
    expect(await registry.metrics()).toBe(await expected.metrics());
  });
});
