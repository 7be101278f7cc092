import type { AppError, ErrorKind } from '../../../core/errors.ts'

const TYPES: Partial<Record<ErrorKind, string>> = {
  invalid: 'invalid_request_error',
  too_large: 'invalid_request_error',
  too_slow: 'invalid_request_error',
  not_found: 'invalid_request_error',
  unauthenticated: 'authentication_error',
  limited: 'rate_limit_error',
}

/** Returns an error in the form that OpenAI's APIs share. */
export function toOpenAiError(error: AppError) {
  return {
    error: {
      message: error.message,
      type: TYPES[error.kind] ?? 'api_error',
      code: error.extra.code ?? null,
      param: error.extra.param ?? null,
    },
  }
}
