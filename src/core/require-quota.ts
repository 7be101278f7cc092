import { AppError } from './errors.ts'

/** `current` is what there is already of what may be there `limit` times; `extra` is told beside `message`. */
type Quota = { current: number; limit: number; message: string; extra?: Record<string, unknown> }

/** Is there space for one more? @throws AppError `limited` with `extra`, which is {current, limit} unless it is given. */
export function requireQuota({ current, limit, message, extra = { current, limit } }: Quota): void {
  if (current >= limit) throw new AppError('limited', message, extra)
}
