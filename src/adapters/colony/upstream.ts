import { AppError, errorMessage } from '../../core/errors.ts'
import { withoutUserinfo } from '../../core/text/url-userinfo.ts'
import { isUnsent } from '../egress/unsent.ts'

/** Response of a remote gateway; `body` is null when it is not a JSON object. */
export type UpstreamAnswer = { status: number; isOk: boolean; body: Record<string, unknown> | null; text: string }

/** No response arrived; `hasLeft` is true when the request may have been processed. */
export class UpstreamSilence extends AppError {
  readonly hasLeft: boolean
  constructor(hasLeft: boolean, cause: unknown) {
    super('unavailable', 'Colony gateway unreachable', {}, { cause })
    this.hasLeft = hasLeft
  }
}

/**
 * Client of the gateway at `X402_GATEWAY_URL`. Every method throws `UpstreamSilence` when no response arrives in time.
 */
export type ColonyUpstream = {
  /** The URL without credentials, for use in responses. */
  readonly shownUrl: string
  health(): Promise<UpstreamAnswer>
  join(request: { agentId: string; walletAddress: string; designation?: string | undefined }): Promise<UpstreamAnswer>
  fitness(agentId: string): Promise<UpstreamAnswer>
  pricing(agentId: string): Promise<UpstreamAnswer>
  endpoints(): Promise<UpstreamAnswer>
  /** Sends the payment once with its id as `Idempotency-Key`; it is never retried without an answer. */
  pay(paymentId: string, request: Record<string, unknown>): Promise<UpstreamAnswer>
  /** Returns the state of a payment; gateways without this endpoint answer 404. */
  findPayment(paymentId: string): Promise<UpstreamAnswer>
}

const HEALTH_MS = 5000
const TIMEOUT_MS = 10_000
/** Matches the timeout of the gateway's own clients. */
const PAY_MS = 15_000
const MAX_BYTES = 1024 * 1024
const MAX_TEXT = 300

export function createColonyUpstream(
  baseUrl: string,
  { fetch: ask, timeoutsMs = {} }: { fetch: typeof fetch; timeoutsMs?: { health?: number; pay?: number } },
): ColonyUpstream {
  const send = async (path: string, timeoutMs: number, init: RequestInit = {}): Promise<UpstreamAnswer> => {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await ask(`${baseUrl}${path}`, { ...init, redirect: 'manual', signal })
      return { status: response.status, isOk: response.ok, ...(await readAnswer(response)) }
    } catch (error) {
      throw new UpstreamSilence(!isUnsent(error), new Error(withoutUserinfo(errorMessage(error))))
    }
  }
  const post = (path: string, timeoutMs: number, body: unknown, headers: Record<string, string> = {}) =>
    send(path, timeoutMs, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const named = (path: string, id: string) => `${path}/${encodeURIComponent(id)}`
  return {
    shownUrl: withoutUserinfo(baseUrl),
    health: () => send('/health', timeoutsMs.health ?? HEALTH_MS),
    join: (request) => post('/gateway/colony/join', TIMEOUT_MS, request),
    fitness: (agentId) => send(named('/gateway/fitness', agentId), TIMEOUT_MS),
    pricing: (agentId) => send(named('/gateway/pricing', agentId), TIMEOUT_MS),
    endpoints: () => send('/gateway/endpoints', TIMEOUT_MS),
    pay: (paymentId, request) =>
      post('/gateway/pay', timeoutsMs.pay ?? PAY_MS, { ...request, paymentId }, { 'idempotency-key': paymentId }),
    findPayment: (paymentId) => send(named('/gateway/payments', paymentId), TIMEOUT_MS),
  }
}

async function readAnswer(response: Response): Promise<Pick<UpstreamAnswer, 'body' | 'text'>> {
  const text = await readText(response)
  return { body: toObject(text), text: text.slice(0, MAX_TEXT) }
}

/** @throws Error for a response that is truncated or exceeds the size limit. */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) throw new Error('The answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function toObject(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : null
  } catch {
    return null
  }
}
