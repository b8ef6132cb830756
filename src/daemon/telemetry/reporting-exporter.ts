import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../process/log.ts';

/** Wraps an exporter. Logs the first failure of a series, and the first success after the series. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  #lost = 0;

  constructor(exporter: SpanExporter, log: Pick<Log, 'info' | 'warn'>) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#report(result, spans.length);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #report({ code, error }: ExportResult, spans: number): void {
    if (code === ExportResultCode.SUCCESS) {
      if (this.#lost > 0) this.#log.info({ lost: this.#lost }, 'traces are exported again');
      this.#lost = 0;
      return;
    }
    // The response of a collector may quote the request, so only the error's code or the beginning of its message is
    // logged.
    if (this.#lost === 0)
      this.#log.warn(
        { reason: reasonOf(error) },
        'traces cannot be exported; they are dropped until the collector answers',
      );
    this.#lost += spans;
  }
}

function reasonOf(error: (Error & { code?: unknown }) | undefined): string {
  if (error === undefined) return 'unknown';
  const { code } = error;
  return code === undefined || code === '' ? error.message.slice(0, 100) : `${code}`;
}
