import { test } from 'node:test';
import { channelConformance } from 'agentd/channel/conformance';
import plugin from '../index.ts';

// Every channel of agentd must pass these cases. The simulator of the plugin plays the platform. The cases must run one
// after another.
for (const { name, run } of channelConformance({ plugin })) test(name, run);
