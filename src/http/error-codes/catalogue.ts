import type { ErrorKind } from '../../core/errors.ts'
import { ACCESS_CODES } from './access.ts'
import { AGENT_CODES } from './agents.ts'
import type { ErrorCodes } from './error-code.ts'
import { MONEY_CODES } from './money.ts'

/** Meaning and remedy of each kind of error; codes add detail. */
export const DOCUMENTED_KINDS: Readonly<Record<ErrorKind, Readonly<{ means: string; remedy: string }>>> = {
  invalid: { means: 'The request is not valid; the message names the field.', remedy: 'Correct it.' },
  unauthenticated: {
    means: 'The session, key or token is missing or not valid.',
    remedy: 'Sign in, or send a valid key.',
  },
  payment_required: { means: 'A plan, credits or a payment is missing.', remedy: 'Pay, then send the request again.' },
  forbidden: { means: 'The caller does not have permission.', remedy: 'Use an account or key with permission.' },
  not_found: { means: 'The object does not exist or belongs to another user.', remedy: 'Correct the id.' },
  conflict: { means: 'The request conflicts with the current state.', remedy: 'Read the current state, then retry.' },
  too_slow: { means: 'The body took too long to arrive.', remedy: 'Send it again.' },
  too_large: { means: 'The body or file is too large.', remedy: 'Send a smaller one.' },
  limited: {
    means: 'Too many requests, or a quota is used up.',
    remedy: 'Wait for `Retry-After` seconds if the header is present.',
  },
  storage_full: { means: 'There is no space left.', remedy: 'Delete something.' },
  misconfigured: { means: 'A setting of the operator is wrong or missing.', remedy: 'Contact the operator.' },
  internal: {
    means: 'An unexpected failure; the log contains the request id.',
    remedy: 'Retry, then contact the operator.',
  },
  undelivered: {
    means: 'A message between agents could not be delivered; `reason` contains the cause.',
    remedy: 'Send it again later.',
  },
  upstream_failed: { means: 'An upstream service failed or refused the request.', remedy: 'Try again later.' },
  unavailable: {
    means: 'The feature is not configured or temporarily unavailable.',
    remedy: 'Read the message; retry later.',
  },
  upstream_timeout: { means: 'An upstream service did not respond in time.', remedy: 'Try again later.' },
}

/** All error codes by topic. */
export const CODE_GROUPS: Readonly<Record<string, ErrorCodes>> = {
  'Access and limits': ACCESS_CODES,
  'Agents and chat': AGENT_CODES,
  'Payments and idempotency': MONEY_CODES,
}
