import type { ErrorKind } from '../../core/errors.ts'
import { ACCESS_CODES } from './access.ts'
import { AGENT_CODES } from './agents.ts'
import type { ErrorCodes } from './error-code.ts'
import { MONEY_CODES } from './money.ts'

/** What each kind of error means to a caller, and what to do; some errors of a kind have a code that says more. */
export const KINDS: Readonly<Record<ErrorKind, Readonly<{ means: string; remedy: string }>>> = {
  invalid: { means: 'The request is not as it should be; the message names the field.', remedy: 'Correct it.' },
  unauthenticated: { means: 'Nobody is known by the cookie, key or token.', remedy: 'Sign in, or send a good key.' },
  payment_required: { means: 'A plan, credits or a payment is missing.', remedy: 'Pay, then repeat the request.' },
  forbidden: { means: 'The caller is known and may not.', remedy: 'Ask as somebody who may.' },
  not_found: { means: 'It does not exist, or belongs to somebody else.', remedy: 'Correct the id.' },
  conflict: { means: 'It does not go together with how things stand.', remedy: 'Read how they stand, then decide.' },
  too_slow: { means: 'The body took too long to arrive.', remedy: 'Send it again.' },
  too_large: { means: 'The body or file is larger than the route takes.', remedy: 'Send less.' },
  limited: {
    means: 'Too many requests, or a quota is used up.',
    remedy: 'Wait for `Retry-After` seconds where the answer says so.',
  },
  storage_full: { means: 'There is no space left.', remedy: 'Delete something.' },
  misconfigured: { means: 'A setting of the operator is wrong or missing.', remedy: 'Tell the operator.' },
  internal: {
    means: 'Something of ours failed; the log has it by the request id.',
    remedy: 'Try again; tell the operator.',
  },
  undelivered: {
    means: 'A message of the bus could not be delivered; `reason` says why.',
    remedy: 'Send it again later.',
  },
  upstream_failed: { means: 'A service behind us failed or refused.', remedy: 'Try again later.' },
  unavailable: {
    means: 'It is not configured, or not there for the moment.',
    remedy: 'Read the message; try again later.',
  },
  upstream_timeout: { means: 'A service behind us took too long.', remedy: 'Try again later.' },
}

/** Every code that an error may have, by what it is about. */
export const CODE_GROUPS: Readonly<Record<string, ErrorCodes>> = {
  'Access and limits': ACCESS_CODES,
  'Agents and chat': AGENT_CODES,
  'Money and repeated requests': MONEY_CODES,
}
