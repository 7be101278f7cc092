import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import type { ServerClient } from '../client.ts'
import type { Call } from './diff/change.ts'
import type { AgentPlan } from './plan.ts'

/** Outcome for one agent. `webhookSecret` is returned only once, when a webhook channel is created. */
export type Outcome = { id: string | null; error: string | null; webhookSecret: string | null }

const Answer = z.looseObject({
  agent: z.looseObject({ id: z.string() }).optional(),
  error: z.string().optional(),
  secret: z.string().nullish(),
})

/**
 * Makes the calls of a plan in order and stops at the first refusal; the next apply continues.
 * @throws NotRunningError when the server does not answer.
 */
export async function carryOut(server: ServerClient, { id: known, calls }: AgentPlan): Promise<Outcome> {
  const outcome: Outcome = { id: known, error: null, webhookSecret: null }
  try {
    for (const call of calls) {
      const answer = await send(server, outcome.id, call)
      outcome.id ??= answer.agent?.id ?? null
      outcome.webhookSecret ??= answer.secret ?? null
      // The agent exists but does not run; its other settings are still written.
      outcome.error ??= answer.error ?? null
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    outcome.error = error.message
  }
  return outcome
}

async function send(server: ServerClient, id: string | null, { method, path, body }: Call) {
  const target = path.startsWith('/api/') ? path : `/api/agents/${encodeURIComponent(id ?? '')}${path}`
  const isOfAgent = method === 'POST' && path === '/api/scheduled-tasks'
  return server.ask(Answer, method, target, isOfAgent ? { ...body, agentId: id } : body)
}
