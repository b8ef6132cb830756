import { bindIdentity } from './bind-identity.ts';
import { checkSender } from './check-sender.ts';
import { guard } from './guard.ts';
import { identify } from './identify.ts';
import { openSession } from './open-session.ts';
import { recogniseRepeat } from './recognise-repeat.ts';
import { runAgent } from './run-agent.ts';
import { sendReply } from './send-reply.ts';
import { Sequence } from './sequence.ts';
import { storeReply } from './store-reply.ts';
import { takeTurn } from './take-turn.ts';

/**
 * The way of a message, from what has arrived to the reply on its way. Read this first, then the steps in
 * this order; each opens with what it checks, what it adds, and how it can end the turn. A step stands
 * behind those whose findings it needs: in another order this does not compile.
 */
export const steps = Sequence.start()
  .step(identify) //         who sent it, as far as its token says
  .step(recogniseRepeat) //  answered before? the same answer again
  .step(checkSender) //      a stranger to the session is refused before anything counts
  .step(guard) //            the loop guard lets it through or blocks it, without a wait
  .step(takeTurn) //         from here on, one message of a session at a time
  .step(openSession) //      find or create
  .step(bindIdentity) //     whom its tools act for: jwt_context set, kept or cleared
  .step(runAgent) //         context for tools, deadline, words and tool progress out
  .step(storeReply) //       the reply and the turn are kept before anything leaves
  .step(sendReply); //       to where it came from
