import { z } from 'zod'
import type { Egress } from '../../../adapters/egress/egress.ts'
import type { Guardrails } from '../../accounts/guardrails/schemas.ts'

type Question = {
  direction: 'input' | 'output'
  model: string | null
  keyId: string | null
  agentId: string | null
  texts: readonly string[]
}
/** The webhook's decision; `failed` when it did not make a valid one in time. */
type Verdict =
  | { action: 'allow' }
  | { action: 'block'; reason: string | null }
  | { action: 'rewrite'; texts: readonly string[] }
  | { action: 'failed' }

const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const MAX_REASON_CHARACTERS = 200
const Answer = z.discriminatedUnion('action', [
  z.object({ action: z.literal('allow') }),
  z.object({ action: z.literal('block'), reason: z.string().nullish() }),
  z.object({ action: z.literal('rewrite'), texts: z.array(z.string()) }),
])

/** Posts texts to an owner's webhook through the egress client, and returns its decision. @throws the signal's reason when aborted. */
export async function askGuardWebhook(
  egress: Egress,
  { url, timeoutMs }: NonNullable<Guardrails['webhook']>,
  question: Question,
  signal: AbortSignal,
): Promise<Verdict> {
  try {
    const response = await egress.request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ version: 1, ...question }),
      maxRedirects: 0,
      maxBytes: MAX_ANSWER_BYTES,
      maxWireBytes: MAX_ANSWER_BYTES,
      timeoutMs,
      signal,
    })
    if (response.status !== 200) {
      response.cancel()
      return { action: 'failed' }
    }
    return toVerdict(JSON.parse(new TextDecoder().decode(await response.bytes())), question)
  } catch {
    signal.throwIfAborted()
    return { action: 'failed' }
  }
}

/** A rewrite must contain as many texts as the question. */
function toVerdict(json: unknown, { texts }: Question): Verdict {
  const { success, data } = Answer.safeParse(json)
  if (!success) return { action: 'failed' }
  if (data.action === 'block') return { action: 'block', reason: data.reason?.slice(0, MAX_REASON_CHARACTERS) ?? null }
  if (data.action === 'rewrite' && data.texts.length !== texts.length) return { action: 'failed' }
  return data
}
