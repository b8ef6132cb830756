import { Counter as ExportedCounter, type Registry } from 'prom-client';
import type { MetricRecord } from './metric-list.ts';
import { type Labels, SeriesMap } from './series-map.ts';

/** The count of one set of label values. */
class CounterSeries {
  readonly labels: Labels;
  #uncollected = 0;

  constructor(labels: Labels) {
    this.labels = labels;
  }

  add(count: number): void {
    this.#uncollected += count;
  }

  /** The sum of the increments since the last call. */
  collect(): number {
    const collected = this.#uncollected;
    this.#uncollected = 0;
    return collected;
  }
}

/** A counter that is cheap to increment. prom-client gets the sums when the metrics are read. */
export class Counter {
  readonly #series: SeriesMap<CounterSeries>;

  constructor({ name, labels, sentence }: MetricRecord, registry: Registry) {
    const series = new SeriesMap(labels, (values) => new CounterSeries(values));
    this.#series = series;
    new ExportedCounter({
      name,
      help: sentence,
      labelNames: [...labels],
      registers: [registry],
      collect() {
        for (const one of series.all) this.inc(one.labels, one.collect());
      },
    });
  }

  of(labels: Labels): CounterSeries {
    return this.#series.of(labels);
  }
}
