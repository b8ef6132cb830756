export type Labels = Readonly<Record<string, string>>;

interface Node<Series> {
  readonly children: Map<string | undefined, Node<Series>>;
  series: Series | null;
}

/**
 * The series of a metric, one per set of label values. prom-client makes a string from all labels at each observation.
 * Here a series is found by its label values, and code that often observes the series can keep it.
 */
export class SeriesMap<Series> {
  readonly #labelNames: readonly string[];
  readonly #create: (labels: Labels) => Series;
  readonly #root: Node<Series> = { children: new Map(), series: null };
  readonly #all: Series[] = [];

  constructor(labelNames: readonly string[], create: (labels: Labels) => Series) {
    this.#labelNames = labelNames;
    this.#create = create;
  }

  /** The series with these labels. The first call creates it. */
  of(labels: Labels): Series {
    let node = this.#root;
    for (const name of this.#labelNames) {
      const value = labels[name];
      let child = node.children.get(value);
      if (child === undefined) {
        child = { children: new Map(), series: null };
        node.children.set(value, child);
      }
      node = child;
    }
    if (node.series === null) {
      node.series = this.#create(labels);
      this.#all.push(node.series);
    }
    return node.series;
  }

  /** All series, in the order in which they were made. */
  get all(): readonly Series[] {
    return this.#all;
  }
}
