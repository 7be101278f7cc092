import { z } from 'zod'
import { AppError, type ErrorKind } from '../../core/errors.ts'

const TIMEOUT_MS = 15_000

/** Data that a machine registers with. */
export type Machine = {
  mode: 'home' | 'link'
  name: string
  gatewayUrl: string
  gatewayToken: string
}

/**
 * Client of a remote platform's backend API with its owner's `sk_` key. AppErrors `unauthenticated`, `forbidden`,
 * `invalid` and `not_found` are permanent; others may be temporary.
 */
export type PlatformClient = {
  /** Returns the id of the key's owner. */
  findUserId(signal: AbortSignal): Promise<string>
  /** @returns the URL of the machine's page. */
  register(userId: string, machine: Machine, signal: AbortSignal): Promise<string>
  /** @returns the platform's time. */
  sendHeartbeat(userId: string, name: string, signal: AbortSignal): Promise<string>
}

const Valid = z.object({ valid: z.literal(true), userId: z.string() })
const Registered = z.object({ success: z.literal(true), dashboardUrl: z.string() })
const Noted = z.object({ success: z.literal(true), timestamp: z.string() })
const Refused = z.object({ error: z.string() })

const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  429: 'limited',
}

/** `baseUrl` is the backend's, without a slash at its end. */
export function createPlatformClient(options: { baseUrl: string; key: string; fetch: typeof fetch }): PlatformClient {
  const { baseUrl, key } = options
  const post = async <T>(path: string, schema: z.ZodType<T>, body: object, signal: AbortSignal): Promise<T> => {
    const response = await options
      .fetch(`${baseUrl}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        // A redirect could send the key to another host.
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      })
      .catch((error) => {
        throw new AppError('unavailable', `${baseUrl} is not reachable`, {}, { cause: error })
      })
    return readAnswer(baseUrl, response, schema)
  }
  return {
    findUserId: async (signal) => (await post('/api/validate-key', Valid, {}, signal)).userId,
    async register(userId, { mode, ...said }, signal) {
      const { dashboardUrl } = await post(`/api/register-${mode}`, Registered, { userId, ...said }, signal)
      return dashboardUrl
    },
    sendHeartbeat: async (userId, name, signal) =>
      (await post('/api/heartbeat', Noted, { userId, name }, signal)).timestamp,
  }
}

async function readAnswer<T>(baseUrl: string, response: Response, schema: z.ZodType<T>): Promise<T> {
  const answer: unknown = await response.json().catch(() => null)
  if (!response.ok) throw toRefusal(baseUrl, response.status, answer)
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  throw new AppError('upstream_failed', `${baseUrl} does not answer like a Stead backend`)
}

function toRefusal(baseUrl: string, status: number, answer: unknown): AppError {
  const kind = KINDS[status] ?? 'upstream_failed'
  if (kind === 'not_found') {
    return new AppError(kind, `${baseUrl} is no Stead backend: is it the web port? The backend’s is 3001 by default.`)
  }
  const said = Refused.safeParse(answer)
  return new AppError(kind, said.success ? said.data.error : `${baseUrl} answered with status ${status}`)
}
