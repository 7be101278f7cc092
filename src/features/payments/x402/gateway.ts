import type { ColonyUpstream, UpstreamAnswer } from '../../../adapters/colony/upstream.ts'
import { AppError } from '../../../core/errors.ts'
import type { EndpointEntry, Fitness, Pricing } from './schemas.ts'

/** Colony membership, fitness, prices and endpoints of the built-in or an external gateway. */
export type ColonyReads = {
  /** @throws AppError `unavailable` with `gateway` and `status: unreachable`. */
  health(): Promise<Record<string, unknown>>
  join(request: JoinRequest): Promise<Record<string, unknown>>
  fitness(agentId: string): Promise<Fitness>
  pricing(agentId: string): Promise<Pricing>
  endpoints(): Promise<EndpointEntry[]>
}
type JoinRequest = { agentId: string; walletAddress: string; designation?: string | undefined }

/** Tiers for gateways that report a fitness without a tier. */
const UPSTREAM_TIERS: readonly [least: number, tier: string][] = [
  [80, 'elite'],
  [60, 'high'],
  [40, 'standard'],
  [20, 'low'],
  [0, 'minimal'],
]

/** Reads from the gateway of `X402_GATEWAY_URL` and converts its responses. */
export function createUpstreamReads(upstream: ColonyUpstream): ColonyReads {
  return {
    async health() {
      const gateway = upstream.shownUrl
      const answer = await upstream.health().catch((cause: unknown) => {
        throw unreachable(gateway, 'Colony gateway unreachable', cause)
      })
      if (!answer.isOk || !answer.body) throw unreachable(gateway, `Colony gateway answered ${answer.status}`)
      return { status: 'ok', ...answer.body, gateway }
    },
    async join(request) {
      const answer = await upstream.join(request)
      if (answer.isOk && answer.body) return { success: true, ...answer.body }
      const kind = answer.status === 402 ? 'payment_required' : 'upstream_failed'
      throw new AppError(kind, `Colony join failed: ${answer.status} ${answer.text}`.trim(), { success: false })
    },
    fitness: async (agentId) => toFitness(agentId, requireObject(await upstream.fitness(agentId))),
    pricing: async (agentId) => toPricing(agentId, requireObject(await upstream.pricing(agentId))),
    endpoints: async () => toEndpoints(requireObject(await upstream.endpoints())),
  }
}

/** @throws AppError `upstream_failed` for a rejection, `internal` for an unreadable response. */
function requireObject({ isOk, body, status }: UpstreamAnswer): Record<string, unknown> {
  if (!isOk) throw gatewayError('upstream_failed', { upstreamStatus: status })
  if (!body) throw gatewayError('internal')
  return body
}

/** Existing clients expect one message for every gateway failure. */
function gatewayError(kind: 'internal' | 'upstream_failed', extra: Record<string, unknown> = {}): AppError {
  return new AppError(kind, 'x402 gateway error', { success: false, ...extra })
}

function unreachable(gateway: string, error: string, cause?: unknown): AppError {
  return new AppError('unavailable', error, { gateway, status: 'unreachable' }, { cause })
}

function toFitness(agentId: string, body: Record<string, unknown>): Fitness {
  const score = readScore(body)
  const tier = typeof body.tier === 'string' ? body.tier : tierOf(score)
  const registered = typeof body.registered === 'boolean' ? { registered: body.registered } : {}
  return { success: true, agentId, score, tier, details: toNumbers(body.details), ...registered }
}

function toPricing(agentId: string, body: Record<string, unknown>): Pricing {
  const reported = toObject(body.pricing)
  const rated = toObject(body.fitness)
  const score = readScore(typeof body.fitness === 'number' ? { score: body.fitness } : rated)
  const tier = [rated.tier, body.tier, reported.tier].find((one) => typeof one === 'string') ?? tierOf(score)
  const pricing =
    typeof reported.rate === 'number'
      ? { rate: reported.rate, discount: toNumber(reported.discount) ?? 0 }
      : toRate(reported)
  return { success: true, agentId, tier, pricing, fitness: { score, tier } }
}

/** The gateway reports a base price and a multiplier. */
function toRate({ base, multiplier }: Record<string, unknown>): Pricing['pricing'] {
  const [list, times] = [toNumber(base), toNumber(multiplier)]
  if (list === null || times === null) throw gatewayError('internal')
  const percent = Math.round(times * 100)
  const microUsd = Math.round((Math.round(list * 1_000_000) * percent) / 100)
  return { rate: microUsd / 1_000_000, discount: Math.max(0, 100 - percent) }
}

function toEndpoints(body: Record<string, unknown>): EndpointEntry[] {
  if (!Array.isArray(body.endpoints)) throw gatewayError('internal')
  return body.endpoints.map((entry: unknown) => {
    const { slug, name, description, price, currency } = toObject(entry)
    const shown = typeof slug === 'string' ? slug : name
    if (typeof shown !== 'string') throw gatewayError('internal')
    const unit = typeof currency === 'string' ? ` ${currency}` : ''
    const cost = typeof price === 'number' ? `${price}${unit}` : typeof price === 'string' ? price : ''
    return { slug: shown, description: typeof description === 'string' ? description : '', price: cost }
  })
}

function readScore(body: Record<string, unknown>): number {
  const score = toNumber(body.score) ?? toNumber(body.fitness)
  if (score === null) throw gatewayError('internal')
  return Math.min(100, Math.max(0, score))
}

function tierOf(score: number): string {
  return UPSTREAM_TIERS.find(([least]) => score >= least)?.[1] ?? 'minimal'
}

function toNumbers(details: unknown): Record<string, number> {
  return Object.fromEntries(
    Object.entries(toObject(details)).flatMap(([name, value]) => (typeof value === 'number' ? [[name, value]] : [])),
  )
}

function toNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

export function toObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
