import { AppError } from './errors.ts'

/** `current` of `limit` are in use; `extra` joins the error's response. */
type Quota = { current: number; limit: number; message: string; extra?: Record<string, unknown> }

/** @throws AppError `limited` when the quota is used up, with `extra`, by default {current, limit}. */
export function requireQuota({ current, limit, message, extra = { current, limit } }: Quota): void {
  if (current >= limit) throw new AppError('limited', message, extra)
}
