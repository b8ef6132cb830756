/**
 * The conformance suite for channels. It needs no particular test runner:
 *
 *     import { channelConformance } from 'agentd/channel/conformance';
 *     for (const { name, run } of channelConformance({ plugin })) test(name, run);
 *
 * Each case creates a new channel, in a scope that records what the channel does. No socket is opened. If the plugin
 * has a simulator, it acts as the platform, and most cases use its deliveries. Otherwise the cases use the requests and
 * answers in the options.
 *
 * Run the cases one after another: some of them shorten the timeouts of the process.
 */

import { checkCases } from './conformance/check-cases.ts';
import { deliveryCases } from './conformance/delivery-cases.ts';
import { type ConformanceCase, type ConformanceOptions, toCases } from './conformance/options.ts';
import { peopleCases } from './conformance/people-cases.ts';
import { sampleCases } from './conformance/sample-cases.ts';
import { sendingCases } from './conformance/sending-cases.ts';
import { shapeCases, signatureCases } from './conformance/shape-and-signature-cases.ts';
import { hasOwnConnection } from './simulator.ts';

export type { ConformanceCase, ConformanceOptions, SampleRequest } from './conformance/options.ts';
export { RecordedDeliveryFailure, RecordedProblem } from './conformance/recording-scope.ts';

export function channelConformance(options: ConformanceOptions): ConformanceCase[] {
  const { plugin, send } = options;
  const isPush = plugin.delivery === 'push';
  const isSimulated = plugin.simulator !== undefined;
  return toCases(options, [
    ...shapeCases(),
    ...sampleCases(options),
    // A connection that the channel made needs no proof of its deliveries.
    ...(isSimulated && !hasOwnConnection(plugin) ? signatureCases() : []),
    ...(isSimulated ? [...deliveryCases(), ...checkCases()] : []),
    ...(isPush && isSimulated ? peopleCases() : []),
    ...(isPush && (isSimulated || send) ? sendingCases(options) : []),
  ]);
}
