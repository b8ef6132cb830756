import { tokenRecord } from '../message/create-stream.ts';
import { sealRecord } from '../session/jwt-context.ts';
import type { StoredToken } from '../store/stored-tokens.ts';
import { actionTextRecord } from '../tools/journal/action-record.ts';

/**
 * The record that a stored token belongs to. A token that is sealed for one record cannot be opened for any other
 * record.
 */
export function sealedRecord(token: StoredToken): string {
  switch (token.kind) {
    case 'link':
      return token.key;
    case 'session':
      return sealRecord(token.tag, token.user_id);
    case 'stream':
      return tokenRecord(token.stream_id);
    case 'action':
      return actionTextRecord(token.action_id, token.field);
  }
}
