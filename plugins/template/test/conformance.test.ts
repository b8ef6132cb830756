import { test } from 'node:test';
import { channelConformance } from 'agentd/channel/conformance';
import plugin from '../src/index.ts';

// What every channel of agentd must do; its platform is the simulator of the plugin. One after another.
for (const { name, run } of channelConformance({ plugin })) test(name, run);
