import type { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { MailChannel } from '../../../features/agents/channels/schemas.ts'
import { ConfigResponse, SECRET_NAMES, type ShownConfig } from '../../../features/agents/registry/schemas.ts'
import { Breaker, type Caps } from '../../../features/ai/breakers/schemas.ts'
import { AgentTools } from '../../../features/conversations/agent-tools/schemas.ts'
import { type McpServer, McpServerList } from '../../../features/conversations/mcp-servers/schemas.ts'
import { Instructions as ShownInstructions } from '../../../features/conversations/memory/schemas.ts'
import { type Task, TaskList } from '../../../features/conversations/scheduled-tasks/schemas.ts'
import { WebhookChannel } from '../../../features/conversations/webhook-channel/schemas.ts'
import { type FleetAgent, FleetPage } from '../../../features/monitoring/fleet/schemas.ts'
import type { ServerClient } from '../client.ts'

const PAGE = 100

/**
 * Present state of an agent. `webhook` is the origin of its replies, null while the channel is off. `instructions` are
 * read on request; `unreadable` says why that failed, for example because the agent is stopped.
 */
export type PresentAgent = {
  id: string
  name: string
  config: Omit<ShownConfig, 'plan'>
  labels: readonly string[]
  tools: AgentTools | null
  servers: readonly McpServer[]
  schedules: readonly Task[]
  mail: boolean
  webhook: string | null
  caps: z.infer<typeof Caps>
  instructions: PresentInstructions
}
type PresentInstructions = { text: string | null; unreadable: string | null }
export type ListedAgent = Pick<FleetAgent, 'id' | 'name' | 'labels'>

/** Lists all agents of the caller by name. */
export async function listFleet(server: ServerClient): Promise<ListedAgent[]> {
  const agents: ListedAgent[] = []
  for (;;) {
    const page = await server.ask(FleetPage, 'GET', `/api/fleet?limit=${PAGE}&offset=${agents.length}`)
    agents.push(...page.agents)
    if (page.agents.length === 0 || agents.length >= page.total) return agents
  }
}

/** Reads everything a fleet file can describe. Reading instructions wakes the agent, which stores them as a file. */
export async function readPresent(
  server: ServerClient,
  { id, name, labels }: ListedAgent,
  { withInstructions }: { withInstructions: boolean },
): Promise<PresentAgent> {
  const agent = `/api/agents/${encodeURIComponent(id)}`
  const get = <T>(schema: z.ZodType<T>, path: string) => server.ask(schema, 'GET', path)
  const [{ config }, tools, { servers }, { tasks }, mail, webhook, { caps }, instructions] = await Promise.all([
    get(ConfigResponse, `${agent}/config`),
    get(AgentTools, `${agent}/tools`),
    get(McpServerList, `${agent}/mcp-servers`),
    get(TaskList, `/api/scheduled-tasks?${new URLSearchParams({ agentId: id })}`),
    get(MailChannel, `${agent}/channels/mail`),
    get(WebhookChannel, `${agent}/webhook-channel`),
    get(Breaker, `${agent}/breaker`),
    withInstructions ? readInstructions(server, `${agent}/instructions`) : NOT_READ,
  ])
  // Oldest first, so that the file lists them in order of creation.
  const schedules = tasks.toReversed()
  const channels = { mail: mail.isOn, webhook: webhook.isOn ? webhook.sendsTo : null }
  return { id, name, labels, config, tools, servers, schedules, caps, instructions, ...channels }
}

const NOT_READ: PresentInstructions = { text: null, unreadable: null }

/** A stopped, unreachable or external agent has no readable instructions; everything else is known. */
async function readInstructions(server: ServerClient, path: string): Promise<PresentInstructions> {
  try {
    const { text } = await server.ask(ShownInstructions, 'GET', path)
    return { text, unreadable: null }
  } catch (error) {
    if (error instanceof AppError) return { text: null, unreadable: error.message }
    throw error
  }
}

/** State of an agent that does not exist yet. */
export function toNew(name: string): PresentAgent {
  const secrets = Object.fromEntries(SECRET_NAMES.map((secret) => [secret, false])) as ShownConfig['secrets']
  const config = { aiProvider: '', model: '', secrets }
  return {
    ...{ id: '', name, config, labels: [], tools: null, servers: [], schedules: [], mail: false, webhook: null },
    caps: { tokensPerDay: null, costUsdPerDay: null },
    instructions: NOT_READ,
  }
}
