import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/list-of.ts'
import type { AgentEndpoint } from './endpoint.ts'
import type { Ask } from './http.ts'

/** For all of them together, however many an agent names. */
const MAX_MS = 10 * 60_000

const Pairings = z.object({
  pending: listOf(z.object({ requestId: z.string() })),
  paired: listOf(z.object({ deviceId: z.string() })),
})

/** Lets a device in that has asked. @throws AppError of the gateway. */
export async function approveOpenClawDevice(
  ask: Ask,
  endpoint: AgentEndpoint,
  requestId: string,
  timeoutMs: number,
): Promise<void> {
  await callAdmin(
    ask,
    endpoint,
    { method: 'device.pair.approve', params: { requestId } },
    { schema: z.unknown(), timeoutMs },
  )
}

/**
 * Sends every device away that an OpenClaw gateway knows or is asked to know: each has a token of its own, which outlives
 * the gateway token that let it in. The platform pairs anew when it needs to.
 */
export async function endOpenClawPairings(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<void> {
  const endsAt = performance.now() + MAX_MS
  const call = <Schema extends z.ZodType>(schema: Schema, method: string, params: object) => {
    if (performance.now() > endsAt) throw new AppError('upstream_timeout', 'The agent did not answer in time')
    return callAdmin(ask, endpoint, { method, params }, { schema, timeoutMs })
  }
  const { pending, paired } = await call(Pairings, 'device.pair.list', {})
  for (const { requestId } of pending) await call(z.unknown(), 'device.pair.reject', { requestId })
  for (const { deviceId } of paired) await call(z.unknown(), 'device.pair.remove', { deviceId })
}

const Answer = z.object({ ok: z.literal(true), payload: z.unknown() })

async function callAdmin<Schema extends z.ZodType>(
  ask: Ask,
  endpoint: AgentEndpoint,
  call: { method: string; params: object },
  { schema, timeoutMs }: { schema: Schema; timeoutMs: number },
): Promise<z.infer<Schema>> {
  const answer = await ask(Answer, {
    endpoint,
    path: '/api/v1/admin/rpc',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
    timeoutMs,
  })
  const payload = schema.safeParse(answer.payload)
  if (payload.success) return payload.data
  throw new AppError('upstream_failed', 'The agent answered something unexpected', {}, { cause: payload.error })
}
