/**
 * The conformance suite that every channel runs, the bundled ones and third parties' alike. It knows no
 * test runner; hand its cases to yours:
 *
 *     import { channelConformance } from 'agentd/channel/conformance';
 *     for (const { name, run } of channelConformance({ plugin })) it(name, run);
 *
 * Each case makes the channel anew, in a scope that records what it does. No socket is opened: where the plugin
 * has a simulator, that is the platform, and most cases are made of its deliveries; else they are made of the
 * requests and answers that the options name. Cases of platforms that hang let the time-outs of the process run
 * faster while they work (quick-time.ts): run them one after another.
 */
import { checkCases } from './conformance/check-cases.ts';
import { deliveryCases } from './conformance/delivery-cases.ts';
import { Evidence } from './conformance/evidence.ts';
import type { ConformanceCase, ConformanceOptions, Trial } from './conformance/options.ts';
import { sampleCases } from './conformance/sample-cases.ts';
import { sendingCases } from './conformance/sending-cases.ts';
import { shapeCases } from './conformance/shape-cases.ts';
import { signatureCases } from './conformance/signature-cases.ts';

export type { ConformanceCase, ConformanceOptions, SampleRequest } from './conformance/options.ts';
export { RecordedDeliveryFailure, RecordedProblem } from './conformance/recorded-errors.ts';

export function channelConformance(options: ConformanceOptions): ConformanceCase[] {
  const { plugin, send } = options;
  const isPush = plugin.capabilities.delivery === 'push';
  const isSimulated = plugin.simulator !== undefined;
  const trials = [
    ...shapeCases(),
    ...sampleCases(options),
    ...(isSimulated ? [...signatureCases(), ...deliveryCases(), ...checkCases()] : []),
    ...(isPush && (isSimulated || send) ? sendingCases(options) : []),
  ];
  return trials.map(([name, trial]) => ({
    name: `${plugin.name}: ${name}`,
    run: () => attempt(trial, options),
  }));
}

/** A case that fails says what it failed on: the latest deliveries and calls, with their payloads. */
async function attempt(trial: Trial, options: ConformanceOptions): Promise<void> {
  const evidence = new Evidence();
  try {
    await trial({ ...options, evidence });
  } catch (error) {
    throw evidence.shownWith(error);
  }
}
