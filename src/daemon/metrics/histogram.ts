import type { Metric, Registry } from 'prom-client';
import type { MetricRecord } from './metric-list.ts';
import { type Labels, SeriesMap } from './series-map.ts';

/** The observations of one set of label values. */
export class HistogramSeries {
  readonly labels: Labels;
  readonly #bounds: readonly number[];
  /** Observations by bucket. The last element counts observations above the last bound. */
  readonly #counts: number[];
  #sum = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = new Array(bounds.length + 1).fill(0);
  }

  observe(seconds: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++;
    (this.#counts[bucket] as number)++;
    this.#sum += seconds;
  }

  /** The samples of the text format: a bucket counts all observations up to its bound. */
  samples(name: string): Sample[] {
    let count = 0;
    const buckets = this.#counts.map((inBucket, bucket) => {
      count += inBucket;
      const le = this.#bounds[bucket] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...this.labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.labels, value: count },
    ];
  }
}

interface Sample {
  metricName: string;
  labels: Readonly<Record<string, string | number>>;
  value: number;
}

/**
 * A histogram that is cheap to observe. The histogram of prom-client makes a string from the labels and checks their
 * names at each observation, even through `labels()`, and does not accept values that are already summed.
 */
export class Histogram {
  readonly #series: SeriesMap<HistogramSeries>;

  constructor({ name, labels, sentence, buckets = [] }: MetricRecord, registry: Registry) {
    const series = new SeriesMap(labels, (values) => new HistogramSeries(values, buckets));
    this.#series = series;
    const get = async () => ({
      ...{ name, help: sentence, type: 'histogram', aggregator: 'sum' },
      values: series.all.flatMap((one) => one.samples(name)),
    });
    // The registry uses only the name and the output of a metric, but its type requires the classes of prom-client.
    registry.registerMetric({ name, get } as unknown as Metric);
  }

  of(labels: Labels): HistogramSeries {
    return this.#series.of(labels);
  }
}
