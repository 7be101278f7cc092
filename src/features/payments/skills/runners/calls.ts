import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/errors.ts'
import type { Db } from '../../../../db/open.ts'
import type { Once, SignedInUser } from '../../../../http/env.ts'
import type { Enqueue } from '../../../../jobs/queue.ts'
import type { TokenChains } from '../../wallets/balance.ts'
import type { AskDeps } from './ask-model.ts'

export type RunnerDeps = AskDeps & { db: Db; clock: Clock; enqueue: Enqueue; tokenChains: TokenChains }

/** A call of a skill as it came; each skill reads what it needs. `once` is for those that would act twice (decisions, 22). */
export type SkillCall = { user: SignedInUser; body: Readonly<Record<string, unknown>>; signal: AbortSignal; once: Once }

/** What a call of a skill says. @throws AppError `invalid` with the first problem. */
export function parseCall<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid action')
}

/** A line of text that has to be there. */
export function line(name: string, max = 200) {
  return z
    .string(`${name} is required`)
    .trim()
    .min(1, `${name} is required`)
    .max(max, `${name} must be at most ${max} characters`)
}

/** `2026-12-31`, a day in UTC. */
export function day(name: string) {
  return z.iso.date(`${name} must be a day such as 2026-12-31`)
}
