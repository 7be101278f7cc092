import type { AppError, ErrorKind } from '../../../../core/errors.ts'

type Meaning = { status: number; type: string }

const API_ERROR: Meaning = { status: 500, type: 'api_error' }
/** Anthropic's statuses and types. */
const MEANINGS: Readonly<Record<ErrorKind, Meaning>> = {
  invalid: { status: 400, type: 'invalid_request_error' },
  unauthenticated: { status: 401, type: 'authentication_error' },
  payment_required: { status: 402, type: 'billing_error' },
  forbidden: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  conflict: { status: 409, type: 'conflict_error' },
  too_slow: { status: 408, type: 'timeout_error' },
  too_large: { status: 413, type: 'request_too_large' },
  limited: { status: 429, type: 'rate_limit_error' },
  storage_full: { status: 507, type: 'api_error' },
  misconfigured: API_ERROR,
  internal: API_ERROR,
  undelivered: API_ERROR,
  upstream_failed: API_ERROR,
  upstream_timeout: { status: 504, type: 'timeout_error' },
  unavailable: { status: 529, type: 'overloaded_error' },
}

/** Returns an error in Anthropic's form; its code, if any, is in `details`. */
export function toMessagesError({ kind, message, extra }: AppError) {
  const { type } = MEANINGS[kind]
  const details = typeof extra.code === 'string' ? { details: { error_code: extra.code } } : {}
  return { type: 'error', error: { type, message, ...details } }
}

/** Returns the status and body of an error response in Anthropic's form. */
export function toMessagesErrorBody(error: AppError, requestId?: string) {
  const body = { ...toMessagesError(error), ...(requestId !== undefined && { request_id: requestId }) }
  return { status: MEANINGS[error.kind].status, body }
}
