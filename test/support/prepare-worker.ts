import { flushCompileCache } from 'node:module';
import fc from 'fast-check';
import { provideContracts } from '../../src/daemon/channels/modules/import-module.ts';
import { isThorough } from './effort.ts';

provideContracts();
// `npm test` tries the same random values each time, so that a change is not blamed for what it did not do. New values
// are tried by `npm run test:thorough`.
if (!isThorough) fc.configureGlobal({ seed: 1 });
// Node.js writes its cache of compiled code when a process ends. The workers end last, so without this each worker would
// compile all modules itself if the cache is still empty.
setInterval(flushCompileCache, 1000).unref();
