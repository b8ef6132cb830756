import { provideContracts } from '../../src/daemon/provide-contracts.ts';

provideContracts();
