import { flushCompileCache } from 'node:module';
import { provideContracts } from '../../src/daemon/channels/modules/import-module.ts';

provideContracts();
// Node.js writes its cache of compiled code when a process ends. The workers end last, so without this each worker would
// compile all modules itself if the cache is still empty.
setInterval(flushCompileCache, 1000).unref();
