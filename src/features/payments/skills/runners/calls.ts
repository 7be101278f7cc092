import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import type { Db } from '../../../../db/open.ts'
import type { Once, SignedInUser } from '../../../../http/env.ts'
import { planInForce } from '../../../accounts/plans/plans.ts'
import { type CompleteDeps, complete } from '../../../ai/gateway/completions.ts'
import { DIRECT } from '../../../ai/usage/tables.ts'
import type { Base } from '../../../base.ts'
import type { TokenChains } from '../../wallets/balance.ts'

export type RunnerDeps = CompleteDeps & Base & { tokenChains: TokenChains }

/** A call of a skill; each skill validates `body`. `once` makes retried purchases idempotent. */
export type SkillCall = { user: SignedInUser; body: Readonly<Record<string, unknown>>; signal: AbortSignal; once: Once }

/** Validates the body of a call. @throws AppError `invalid` with the first problem. */
export function parseCall<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid action')
}

/** A required line of text. */
export function line(name: string, max = 200) {
  return z
    .string(`${name} is required`)
    .trim()
    .min(1, `${name} is required`)
    .max(max, `${name} must be at most ${max} characters`)
}

/** A day in UTC, such as `2026-12-31`. */
export function day(name: string) {
  return z.iso.date(`${name} must be a day such as 2026-12-31`)
}

/** `instructions` come from the skill, `input` from its user. */
type Question = { instructions: string; input: string; skill: string }

type ModelAnswer = { id: string; model: string; content: string }

const ENDPOINT = '/api/skills'
const MAX_TOKENS = 4000

/**
 * Asks a model on behalf of a user; their plan selects and pays for it.
 * @throws AppError as `complete`: `unavailable` NOT_CONFIGURED without a provider, `payment_required`, `limited`.
 */
export async function askModel(
  deps: CompleteDeps & { db: Db },
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
  const request = { caller, requested: {}, body, json, endpoint: `${ENDPOINT}/${skill}`, signal }
  const { id, model, content } = await complete(deps, request)
  return { id, model: model.id, content }
}
