import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/errors.ts'
import type { Db } from '../../../../db/open.ts'
import type { Once, SignedInUser } from '../../../../http/env.ts'
import type { Enqueue } from '../../../../jobs/queue.ts'
import { planInForce } from '../../../accounts/plans/plans.ts'
import { type CompleteDeps, complete } from '../../../ai/gateway/complete.ts'
import { DIRECT } from '../../../ai/usage/tables.ts'
import type { TokenChains } from '../../wallets/balance.ts'

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

type AskDeps = CompleteDeps & { db: Db }

/** What a skill tells a model: `instructions` are the skill's, `input` comes from its user. */
type Question = { instructions: string; input: string; skill: string }

/** What the model said, and which one it was. */
type ModelAnswer = { id: string; model: string; content: string }

const ENDPOINT = '/api/skills'
const MAX_TOKENS = 4000

/**
 * Asks a model in the name of a user, whose plan decides which and who pays.
 * @throws AppError as `complete`: `unavailable` NOT_CONFIGURED without a provider, `payment_required`, `limited`.
 */
export async function askModel(
  deps: AskDeps,
  user: SignedInUser,
  { instructions, input, skill }: Question,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const messages = [
    { role: 'system', content: instructions },
    { role: 'user', content: input },
  ]
  const body = { messages, max_tokens: MAX_TOKENS, stream: false }
  const caller = { userId: user.id, agentId: DIRECT, plan: planInForce(deps.db, user), key: null, aiProvider: null }
  const json = JSON.stringify(body)
  const request = { caller, wish: {}, body, json, endpoint: `${ENDPOINT}/${skill}`, signal }
  const { id, model, content } = await complete(deps, request)
  return { id, model: model.id, content }
}
