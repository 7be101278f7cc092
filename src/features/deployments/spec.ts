import type { AgentSpec } from '../../adapters/runtime.ts'
import type { Sealer } from '../../core/secrets.ts'
import { openTokens } from '../agents/create.ts'
import type { AgentRow } from '../agents/tables.ts'

const GIGABYTE = 1024 ** 3
/** Memory in GB, processor cores: by plan, and by the web's tiers (wire-compatible with older clients). */
const SIZES: Readonly<Record<string, [number, number]>> = {
  solo: [2, 1],
  collective: [4, 2],
  label: [8, 4],
  network: [16, 4],
  starter: [2, 1],
  pro: [4, 2],
  enterprise: [16, 4],
}
const SMALLEST: [number, number] = [2, 1]
const MAX_PROCESSES = 256

export type SpecDeps = { sealer: Sealer; platformUrl: string }

/** What a runtime needs to run `agent` on its leased `port`: our address, two tokens, and limits by plan. */
export function toSpec(deps: SpecDeps, agent: AgentRow, port: number): AgentSpec {
  const { gatewayToken, accessToken } = openTokens(deps.sealer, agent)
  const [memoryGigabytes, cpus] = SIZES[agent.plan] ?? SMALLEST
  return {
    id: agent.id,
    port,
    environment: {
      AGENT_ID: agent.id,
      AGENT_NAME: agent.name,
      AGENT_MODEL: agent.model,
      PLATFORM_URL: deps.platformUrl,
    },
    secrets: { GATEWAY_TOKEN: gatewayToken, PLATFORM_TOKEN: accessToken },
    limits: { memoryBytes: memoryGigabytes * GIGABYTE, cpus, processes: MAX_PROCESSES },
  }
}
