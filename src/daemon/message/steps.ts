import { authorizeSender } from './authorize-sender.ts';
import { chooseAgent } from './choose-agent.ts';
import { createStream, type Starting } from './create-stream.ts';
import { deduplicate, deduplicateStream } from './deduplicate.ts';
import { findAction } from './find-action.ts';
import { guard, guardedOnArrival } from './guard.ts';
import { identifyByLink } from './identify-by-link.ts';
import { identifyByToken } from './identify-by-token.ts';
import { lockSession } from './lock-session.ts';
import { openSession } from './open-session.ts';
import { resolvePrincipal } from './resolve-principal.ts';
import { runAgent } from './run-agent.ts';
import { sendReply } from './send-reply.ts';
import { Sequence } from './sequence.ts';
import { settlePending } from './settle-pending.ts';
import { storeReply } from './store-reply.ts';
import type { Answering, Deduplicated, Guarded, Numbered } from './turn.ts';

/*
 * The path of a message, from its arrival until its reply is sent. There is one list for each way in which messages
 * arrive. Read this first, then the steps in their order. The comment of each step says what it checks, what it adds,
 * and how it can end the turn. A list in which a step comes before one whose result it needs does not compile.
 */

/** A message that is answered in the response to its request. */
export const answerNow = Sequence.start<Answering>()
  .step(identifyByToken) //   finds out who sent it, by its token
  .step(deduplicate) //       if it was answered before, gives the same answer again
  .step(authorizeSender) //   refuses a stranger to the session before anything is counted
  .step(guard) //             the loop guard lets it through or blocks it, without waiting
  .step(lockSession) //       from here on, one message of the session at a time
  .step(openSession) //       finds or creates the session
  .step(resolvePrincipal) //  decides whom its tools act for: sets, keeps or clears jwt_context
  .step(chooseAgent) //       decides which of several agents answers
  .step(settlePending) //     checks whether it answers the question of a pending action
  .step(runAgent) //          runs the agent and its tools; passes on text and tool progress
  .step(storeReply) //        stores everything in one commit, before the reply is sent
  .step(sendReply); //        sends the reply

/** A message that is stored until its event stream is opened. */
export const openStream = Sequence.start<Starting>()
  .step(identifyByToken)
  .step(deduplicateStream) // if it was sent before, gives the same stream again
  .step(authorizeSender)
  .step(findAction) //        checks whether the action that it answers exists
  .step(guard)
  .step(createStream); //     stores the stream, which waits to be opened

/** The same message after its stream was opened. */
export const runStream = Sequence.start<Answering & Numbered & Guarded>()
  .step(identifyByToken) //   the token may be a different one now
  .step(deduplicate) //       if it was answered in another way, gives the same answer again
  .step(authorizeSender)
  .step(guardedOnArrival)
  .step(lockSession)
  .step(openSession)
  .step(resolvePrincipal)
  .step(chooseAgent)
  .step(settlePending)
  .step(runAgent)
  .step(storeReply)
  .step(sendReply);

/** A platform's message from the inbox. It was deduplicated and screened by the guard when it was enqueued. */
export const runFromInbox = Sequence.start<Answering & Deduplicated & Guarded>()
  .step(identifyByLink) //    finds out who sent it, by the sender's link
  .step(authorizeSender)
  .step(lockSession)
  .step(openSession)
  .step(resolvePrincipal)
  .step(chooseAgent)
  .step(settlePending)
  .step(runAgent)
  .step(storeReply); //       from here on, the inbox sends the reply, with retries
