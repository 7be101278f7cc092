import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import type { ServerClient } from '../client.ts'
import type { Call } from './diff/change.ts'
import type { AgentPlan } from './plan.ts'

/** What became of one agent. `webhookSecret` is told this once, when a webhook channel was made. */
export type Outcome = { id: string | null; error: string | null; webhookSecret: string | null }

const Answer = z.looseObject({
  agent: z.looseObject({ id: z.string() }).optional(),
  error: z.string().optional(),
  secret: z.string().nullish(),
})

/**
 * Makes the calls of a plan, one after the other, and ends with the first that is refused: what was done stays, and the
 * next apply does the rest. @throws what the server's absence throws.
 */
export async function carryOut(server: ServerClient, { id: known, calls }: AgentPlan): Promise<Outcome> {
  const outcome: Outcome = { id: known, error: null, webhookSecret: null }
  try {
    for (const call of calls) {
      const answer = await send(server, outcome.id, call)
      outcome.id ??= answer.agent?.id ?? null
      outcome.webhookSecret ??= answer.secret ?? null
      // It was made and does not run: the other settings are written all the same.
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
