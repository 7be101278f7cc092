import { AppError } from '../../core/errors.ts'

const RETRY_SECONDS = '1'

/** Creates the error of a write of which nothing was done, so that the caller may try again. */
export function createRefusal(message: string, extra: { code: string }, cause?: unknown): AppError {
  return new AppError('unavailable', message, { ...extra, retryAfter: RETRY_SECONDS }, { cause })
}

export function createLogRefusal(cause?: unknown): AppError {
  return createRefusal('The log of the cluster cannot be reached.', { code: 'LOG_UNAVAILABLE' }, cause)
}
