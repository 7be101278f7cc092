import { z } from 'zod'
import { AppError, type ErrorKind } from '../core/errors.ts'

/** The user a call is made for, as the web app knows them from their session. */
export type Caller = {
  user: { id: string; email: string; name: string; isAdmin: boolean; plan: string; subscriptionId: string | null }
  address: string | null
}

export type DeployRequest = {
  agentId: string
  name: string
  config: { plan: string; aiProvider: string; model: string }
}
export type LifecycleAction = 'start' | 'stop' | 'restart' | 'update' | 'repair' | 'reset-memory'
/** Replaces a token of an agent, which starts it anew when it runs. */
export type TokenAction = 'token/rotate' | 'platform-token/rotate'

/** What the backend says of a change, as it says it; `status` where the change has one. */
export type LifecycleAnswer = z.infer<typeof LifecycleAnswer>
const LifecycleAnswer = z.looseObject({ success: z.literal(true), status: z.string().optional() })

/** What an agent uses and has done, in words for people; `N/A` and null stand where nothing could be measured. */
export type AgentStatsAnswer = z.infer<typeof AgentStatsAnswer>
const AgentStatsAnswer = z.object({
  stats: z.looseObject({
    status: z.string(),
    health: z.enum(['healthy', 'starting', 'stopped', 'unhealthy']),
    cpu: z.string(),
    memory: z.string(),
    uptime: z.number().nullable(),
    uptimeFormatted: z.string(),
    messagesProcessed: z.number(),
    messagesFailed: z.number(),
  }),
  status: z.literal('ok'),
})

/** How a request reaches the backend: in-process, or over HTTP. `path` begins with `/api/`. */
export type CallBackend = (path: string, init: RequestInit, caller: Caller) => Promise<Response>

/** What the web app asks of the backend; both are the same whether it runs in this process or elsewhere. */
export type Backend = {
  /** Waits up to 15 s (Spec 8). @throws AppError with the backend's message when it refuses. */
  deploy(request: DeployRequest, caller: Caller): Promise<{ status: string }>
  /** @throws AppError `not_found`, or `internal` with the reason why the agent did not obey. */
  changeLifecycle(
    agentId: string,
    action: LifecycleAction | TokenAction,
    caller: Caller,
    request?: Record<string, unknown>,
  ): Promise<LifecycleAnswer>
  /** The status of an agent, `unknown` when the engine cannot be asked. @throws AppError `not_found`. */
  status(agentId: string, caller: Caller): Promise<string>
  /** @throws AppError `not_found`. */
  stats(agentId: string, caller: Caller): Promise<AgentStatsAnswer>
}

/** Longer than the 14 s after which the backend answers `provisioning` by itself. */
const DEPLOY_TIMEOUT_MS = 15_000
/** A stop waits for the agent's turn under way (rulings, 37). */
const LIFECYCLE_TIMEOUT_MS = 60_000
/** An update fetches an image, and may go back; a little more than the backend takes for any of them. */
const LONG_TIMEOUT_MS = 175_000
const LONG_ACTIONS: readonly (LifecycleAction | TokenAction)[] = [
  'update',
  'repair',
  'reset-memory',
  'token/rotate',
  'platform-token/rotate',
]
const READ_TIMEOUT_MS = 8000

const Success = z.object({ status: z.string() })
const Failure = z.looseObject({ error: z.string() })
const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  402: 'payment_required',
  404: 'not_found',
  409: 'conflict',
  429: 'limited',
  503: 'unavailable',
}

export function createBackend(call: CallBackend): Backend {
  const ask = async <T>(schema: z.ZodType<T>, path: string, init: RequestInit, caller: Caller, timeoutMs: number) => {
    const bounded = { ...init, signal: AbortSignal.timeout(timeoutMs) }
    const response = await call(path, bounded, caller).catch((error) => {
      throw new AppError('upstream_failed', 'Backend service unavailable', {}, { cause: error })
    })
    return schema.parse(await read(response))
  }
  const toPost = (body: unknown) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const pathOf = (agentId: string) => `/api/agents/${encodeURIComponent(agentId)}`
  return {
    deploy: (request, caller) => ask(Success, '/api/deployments', toPost(request), caller, DEPLOY_TIMEOUT_MS),
    changeLifecycle(agentId, action, caller, request = {}) {
      const timeoutMs = LONG_ACTIONS.includes(action) ? LONG_TIMEOUT_MS : LIFECYCLE_TIMEOUT_MS
      return ask(LifecycleAnswer, `${pathOf(agentId)}/${action}`, toPost(request), caller, timeoutMs)
    },
    status: async (agentId, caller) => (await ask(Success, pathOf(agentId), {}, caller, READ_TIMEOUT_MS)).status,
    stats: (agentId, caller) => ask(AgentStatsAnswer, `${pathOf(agentId)}/stats`, {}, caller, READ_TIMEOUT_MS),
  }
}

async function read(response: Response): Promise<unknown> {
  const body = await response.json().catch(() => null)
  if (response.ok) return body
  const failure = Failure.safeParse(body)
  if (!failure.success) throw new AppError('upstream_failed', 'Backend service unavailable')
  const { error, ...extra } = failure.data
  throw new AppError(KINDS[response.status] ?? 'internal', error, extra)
}

/** Reaches a backend at `baseUrl` with the internal key; identity travels in headers that it believes for that key alone. */
export function callOverHttp(options: {
  baseUrl: string
  internalApiKey: string | undefined
  fetch: typeof fetch
}): CallBackend {
  return (path, init, { user, address }) => {
    const headers = new Headers(init.headers)
    if (options.internalApiKey) headers.set('authorization', `Bearer ${options.internalApiKey}`)
    headers.set('x-user-id', user.id)
    headers.set('x-user-email', user.email)
    headers.set('x-user-role', user.isAdmin ? 'admin' : 'user')
    headers.set('x-user-plan', user.plan)
    if (user.subscriptionId) headers.set('x-billing-subscription-id', user.subscriptionId)
    if (address) headers.set('x-forwarded-for', address)
    return options.fetch(`${options.baseUrl}${path}`, { ...init, headers })
  }
}
