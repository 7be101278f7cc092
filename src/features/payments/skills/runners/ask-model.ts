import type { Db } from '../../../../db/open.ts'
import type { SignedInUser } from '../../../../http/env.ts'
import { planInForce } from '../../../accounts/plans/plans.ts'
import { type CompleteDeps, complete } from '../../../ai/gateway/complete.ts'
import { DIRECT } from '../../../ai/usage/tables.ts'

export type AskDeps = CompleteDeps & { db: Db }

/** What a skill tells a model: `instructions` are the skill's, `input` comes from its user. */
export type Question = { instructions: string; input: string; skill: string }

/** What the model said, and which one it was. */
export type ModelAnswer = { id: string; model: string; content: string }

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
