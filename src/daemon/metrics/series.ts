import { Counter as ExportedCounter, type Metric, type Registry } from 'prom-client';
import type { MetricRecord } from './metric-list.ts';

export type Labels = Readonly<Record<string, string>>;

/**
 * The series of a metric, one per set of label values. prom-client makes a string from all labels and checks their names
 * at each observation, which takes four times as long. Code that often observes a series can keep it.
 */
class SeriesMap<Series> {
  readonly all: Series[] = [];
  readonly #byValues = new Map<string, Series>();
  readonly #names: readonly string[];
  readonly #create: (labels: Labels) => Series;

  constructor(names: readonly string[], create: (labels: Labels) => Series) {
    this.#names = names;
    this.#create = create;
  }

  /** The series with these labels. The first call creates it. */
  of(labels: Labels): Series {
    // With the length of each value, no two sets of values make the same key.
    let values = '';
    for (const name of this.#names) values += `${labels[name]?.length}:${labels[name]}`;
    let series = this.#byValues.get(values);
    if (series === undefined) {
      series = this.#create(labels);
      this.#byValues.set(values, series);
      this.all.push(series);
    }
    return series;
  }
}

/** The count of one set of label values: the increments since the last collection. */
interface CounterSeries {
  readonly labels: Labels;
  uncollected: number;
}

/** A counter that is cheap to increment. prom-client gets the sums when the metrics are read. */
export class Counter {
  readonly #series: SeriesMap<CounterSeries>;

  constructor({ name, labels, sentence }: MetricRecord, registry: Registry) {
    const series = new SeriesMap<CounterSeries>(labels, (values) => ({ labels: values, uncollected: 0 }));
    this.#series = series;
    new ExportedCounter({
      name,
      help: sentence,
      labelNames: [...labels],
      registers: [registry],
      collect() {
        for (const one of series.all) {
          this.inc(one.labels, one.uncollected);
          one.uncollected = 0;
        }
      },
    });
  }

  add(labels: Labels, count: number): void {
    this.#series.of(labels).uncollected += count;
  }
}

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
  samples(name: string) {
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

/** A histogram that is cheap to observe. That of prom-client does not accept values that are already summed. */
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
