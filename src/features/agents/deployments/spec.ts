import type { ChannelUrls } from '../../../adapters/channels/try-tokens.ts'
import type { AgentSpec, Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { toEgressToken } from '../egress/enforce.ts'
import type { ImageRules } from '../operations/images.ts'
import { type AgentAddresses, toAgentOrigin } from '../registry/address.ts'
import { openTokens } from '../registry/agents.ts'
import { agentSettings, type SpecSettings } from '../registry/config.ts'
import { sizeOf } from '../registry/limits.ts'
import type { AgentRow } from '../registry/tables.ts'

const GIGABYTE = 1024 ** 3
const MAX_PROCESSES = 256

/**
 * `urlForAgents` returns the platform's URL for the agents of a runtime; `imageRules.image` is the default container
 * image.
 */
export type SpecDeps = {
  sealer: Sealer
  addresses: AgentAddresses
  runtimes: Pick<Runtimes, 'runtimeOf'>
  urlForAgents: (runtime: Runtime) => Promise<string>
  /** Returns the URL of the egress proxy for the agents of a runtime. */
  proxyForAgents: (runtime: Runtime) => Promise<string>
  imageRules: Pick<ImageRules, 'image'>
  /** Base URLs of the messenger APIs. */
  channelUrls: ChannelUrls
}

/** Returns the image of an agent; null for a process agent. */
export function imageOf(deps: Pick<SpecDeps, 'runtimes' | 'imageRules'>, agent: AgentRow): string | null {
  return deps.runtimes.runtimeOf(agent).name === 'process' ? null : (agent.image ?? deps.imageRules.image)
}

/** Builds the runtime spec of `agent` on its leased `port`: environment, secrets, and limits by plan. */
export async function toSpec(deps: SpecDeps, agent: AgentRow, port: number): Promise<AgentSpec> {
  const { gatewayToken, accessToken } = openTokens(deps.sealer, agent)
  const settings = agentSettings(deps.sealer, agent)
  const [memoryGigabytes, cpus] = sizeOf(agent.plan)
  return {
    id: agent.id,
    image: imageOf(deps, agent),
    port,
    environment: await toEnvironment(deps, agent, settings),
    secrets: {
      ...settings.secrets,
      GATEWAY_TOKEN: gatewayToken,
      PLATFORM_TOKEN: accessToken,
      EGRESS_TOKEN: toEgressToken(gatewayToken),
    },
    limits: { memoryBytes: memoryGigabytes * GIGABYTE, cpus, processes: MAX_PROCESSES },
  }
}

async function toEnvironment(deps: SpecDeps, agent: AgentRow, { environment, secrets }: SpecSettings) {
  return {
    ...environment,
    AGENT_ID: agent.id,
    AGENT_NAME: agent.name,
    AGENT_MODEL: agent.model,
    AGENT_ORIGIN: toAgentOrigin(agent.id, deps.addresses),
    ...(secrets.TELEGRAM_TOKEN && { TELEGRAM_API_URL: deps.channelUrls.telegram }),
    ...(secrets.DISCORD_TOKEN && { DISCORD_API_URL: deps.channelUrls.discord }),
    ...(secrets.SLACK_APP_TOKEN && { SLACK_API_URL: deps.channelUrls.slack }),
    ...(await toPlaces(deps, deps.runtimes.runtimeOf(agent))),
  }
}

/** Returns where agents of a runtime find the platform and the egress proxy. */
async function toPlaces({ urlForAgents, proxyForAgents }: SpecDeps, runtime: Runtime) {
  const [platform, proxy] = [await urlForAgents(runtime), await proxyForAgents(runtime)]
  await runtime.limitHostPorts?.([platform, proxy].map((url) => Number(new URL(url).port)))
  return { PLATFORM_URL: platform, EGRESS_PROXY: proxy }
}
