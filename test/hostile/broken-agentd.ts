/** Runs `agentd` from its sources, with the defect that HOSTILE_DEFECT names. */
import { rewriteSources } from '../support/rewrite-sources.ts';
import { changesOf } from './defects.ts';

rewriteSources(changesOf(process.env.HOSTILE_DEFECT ?? 'all'));
await import('../../src/cli/main.ts');
