import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The longest files, in the folder `test`. Files that mostly wait for time to pass stand between files that compute, so
 * that the processors are always busy.
 */
export const FIRST = [
  'principals/principals.test.ts',
  'contract/redis-connect.test.ts', // waits
  'simulation/simulation.test.ts',
  'e2e/socket-activation.test.ts', // waits
  'e2e/simulate.test.ts', // waits
  'browser/widget-page.test.ts',
  'browser/widget-talk.test.ts',
  'e2e/later-channel.test.ts', // waits
  'e2e/hostile-agent.test.ts',
  'contract/redis-erase.test.ts',
  'contract/same-answers.test.ts',
  'contract/sqlite.test.ts',
  'e2e/sessions.test.ts', // waits
  'browser/widget-outage.test.ts',
  'e2e/admin-listener.test.ts', // waits
  'browser/widget-identity.test.ts',
  'e2e/resilience-load.test.ts',
  'e2e/redis-replicas.test.ts', // waits
  'e2e/resilience-kill.test.ts',
  'e2e/serve-dev.test.ts',
  'e2e/chat.test.ts', // waits
  'unit/inbox/outage-matrix.test.ts',
  'e2e/build.test.ts',
  'e2e/msgbot.test.ts', // waits
  'unit/inbox/work.test.ts',
  'e2e/phonechat.test.ts', // waits
  'contract/redis-slot.test.ts', // waits
  'e2e/sealing.test.ts', // waits
  'contract/postgres.test.ts',
];
/** The folders of the files that come next. */
const NEXT = ['e2e', 'browser', 'contract'];

/** Starts the longest files first, so that no long file runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const first = FIRST.findIndex((file) => moduleId.endsWith(`/test/${file}`));
  if (first >= 0) return first;
  const next = NEXT.findIndex((folder) => moduleId.includes(`/test/${folder}/`));
  return FIRST.length + (next >= 0 ? next : NEXT.length);
}
