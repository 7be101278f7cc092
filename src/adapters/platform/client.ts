import { z } from 'zod'
import { AppError, type ErrorKind } from '../../core/errors.ts'

const TIMEOUT_MS = 15_000

/** Data that a machine registers with. */
export type Machine = {
  mode: 'home' | 'link'
  name: string
  gatewayUrl: string
  gatewayToken: string
  version: string
  agentKind: 'stead' | 'openclaw'
}

/** `installationId` is null when the platform is too old for tunnels. */
export type RegisteredMachine = { dashboardUrl: string; installationId: string | null }

/**
 * Client of a remote platform's backend API, with its owner's `sk_` key or the machine's own token. AppErrors
 * `unauthenticated`, `forbidden`, `invalid`, `conflict` and `not_found` are permanent; others may be temporary.
 */
export type PlatformClient = {
  /** Returns the id of the machine's owner. */
  findUserId(signal: AbortSignal): Promise<string>
  register(userId: string, machine: Machine, signal: AbortSignal): Promise<RegisteredMachine>
  /** @returns the platform's time. */
  sendHeartbeat(userId: string, name: string, signal: AbortSignal): Promise<string>
}

const Valid = z.object({ valid: z.literal(true), userId: z.string() })
const Registered = z
  .object({
    success: z.literal(true),
    dashboardUrl: z.string(),
    installationId: z.string().nullable().default(null),
  })
  .transform(({ dashboardUrl, installationId }) => ({ dashboardUrl, installationId }))
const Paired = z.object({
  installationId: z.string(),
  agentId: z.string(),
  userId: z.string(),
  name: z.string(),
  token: z.string(),
})
export type PairingResult = z.infer<typeof Paired>
const Noted = z.object({ success: z.literal(true), timestamp: z.string() })
const Refused = z.object({ error: z.string() })

const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  429: 'limited',
}

type Platform = { baseUrl: string; fetch: typeof fetch }
type Call = { method: 'POST' | 'PUT'; path: string; token: string | null; body: object }

/** Creates a client with an `sk_` key. `baseUrl` is the backend's, without a slash at its end. */
export function createPlatformClient({ key, ...platform }: Platform & { key: string }): PlatformClient {
  const post = <T>(path: string, schema: z.ZodType<T>, body: object, signal: AbortSignal) =>
    send(platform, { method: 'POST', path, token: key, body }, schema, signal)
  return {
    findUserId: async (signal) => (await post('/api/validate-key', Valid, {}, signal)).userId,
    register: (userId, { mode, ...given }, signal) =>
      post(`/api/register-${mode}`, Registered, { userId, ...given }, signal),
    sendHeartbeat: async (userId, name, signal) =>
      (await post('/api/heartbeat', Noted, { userId, name }, signal)).timestamp,
  }
}

/** Creates a client of a paired machine, with its own token. */
export function createMachineClient({
  token,
  userId,
  name,
  ...platform
}: Platform & { token: string; userId: string; name: string }): PlatformClient {
  return {
    findUserId: async () => userId,
    register: (_userId, { mode: _mode, name: _name, ...body }, signal) =>
      send(platform, { method: 'PUT', path: '/api/installations/self', token, body }, Registered, signal),
    async sendHeartbeat(_userId, _name, signal) {
      const call = { method: 'POST', path: '/api/heartbeat', token, body: { userId, name } } as const
      return (await send(platform, call, Noted, signal)).timestamp
    },
  }
}

/** Exchanges a pairing code for the credentials of this machine. @throws AppError as `PlatformClient`. */
export function pairWithPlatform(
  platform: Platform,
  request: { code: string } & Pick<Machine, 'mode' | 'name' | 'version' | 'agentKind'>,
  signal: AbortSignal,
): Promise<PairingResult> {
  const path = '/api/installations/pair'
  return send(platform, { method: 'POST', path, token: null, body: request }, Paired, signal)
}

async function send<T>(
  { baseUrl, fetch }: Platform,
  { method, path, token, body }: Call,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: { ...(token && { authorization: `Bearer ${token}` }), 'content-type': 'application/json' },
    body: JSON.stringify(body),
    // A redirect could send the key to another host.
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  }).catch((error) => {
    throw new AppError('unavailable', `${baseUrl} is not reachable`, {}, { cause: error })
  })
  return readAnswer(baseUrl, response, schema)
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
