import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/list-of.ts'
import type { AgentEndpoint } from './endpoint.ts'
import { type Ask, Problem } from './http.ts'

const AgentChannel = z.object({
  name: z.string(),
  connected: z.boolean(),
  since: z.string().nullable(),
  account: z.string().nullable(),
  lastError: z.object({ message: z.string(), at: z.string() }).nullable(),
  people: listOf(
    z.object({ id: z.string(), name: z.string().nullable(), since: z.string().nullable(), isConfigured: z.boolean() }),
  ),
  pairings: listOf(z.object({ code: z.string(), id: z.string(), name: z.string(), expiresAt: z.string() })),
})
/** A messenger that an agent listens to; times are ISO 8601. `pairings` are strangers who wait for its owner. */
export type AgentChannel = z.infer<typeof AgentChannel>

const AgentSession = z.object({
  key: z.string(),
  messageCount: z.number(),
  createdAt: z.string(),
  lastActivity: z.string(),
})
/** A conversation as the built-in agent keeps it; times are ISO 8601. */
export type AgentSession = z.infer<typeof AgentSession>
const Sessions = z.object({ sessions: listOf(AgentSession) })

const Channels = z.union([z.object({ channels: listOf(AgentChannel) }), Problem])
const Decided = z.union([z.object({ id: z.string(), name: z.string() }), Problem])
const Removed = z.union([z.object({ ok: z.literal(true) }), Problem])

/** None of an agent of an earlier version, which has no such path. */
export async function readChannels(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<AgentChannel[]> {
  const found = await ask(Channels, { endpoint, path: '/channels', timeoutMs }, [200, 404])
  return 'channels' in found ? found.channels : []
}

export async function readSessions(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<AgentSession[]> {
  return (await ask(Sessions, { endpoint, path: '/sessions', timeoutMs })).sessions
}

/** @throws AppError `not_found`. */
export async function decidePairing(
  ask: Ask,
  endpoint: AgentEndpoint,
  { channel, code, approve }: { channel: string; code: string; approve: boolean },
  timeoutMs: number,
): Promise<void> {
  const path = `/channels/${encodeURIComponent(channel)}/pairings/${encodeURIComponent(code)}`
  const headers = { 'content-type': 'application/json' }
  const call = { endpoint, path, method: 'POST', headers, body: JSON.stringify({ approve }), timeoutMs }
  throwProblem(await ask(Decided, call, [200, 404]))
}

/** @throws AppError `not_found`, `conflict` for somebody whom the agent's settings name. */
export async function removePerson(
  ask: Ask,
  endpoint: AgentEndpoint,
  { channel, personId }: { channel: string; personId: string },
  timeoutMs: number,
): Promise<void> {
  const path = `/channels/${encodeURIComponent(channel)}/people/${encodeURIComponent(personId)}`
  throwProblem(await ask(Removed, { endpoint, path, method: 'DELETE', timeoutMs }, [200, 404, 409]))
}

function throwProblem(answer: object | z.infer<typeof Problem>): void {
  const problem = Problem.safeParse(answer).data?.error
  if (problem) throw new AppError(problem.type === 'conflict' ? 'conflict' : 'not_found', problem.message)
}
