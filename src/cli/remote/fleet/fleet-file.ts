import { z } from 'zod'
import { LabelsRequest } from '../../../features/agents/management/schemas.ts'
import { ChosenSettings, ProvisionRequest, SECRET_NAMES } from '../../../features/agents/registry/schemas.ts'
import { Caps } from '../../../features/ai/breakers/schemas.ts'
import { ToolsRequest } from '../../../features/conversations/agent-tools/schemas.ts'
import { ChangeHeartbeatRequest } from '../../../features/conversations/heartbeat/schemas.ts'
import { AddServerRequest } from '../../../features/conversations/mcp-servers/schemas.ts'
import { InstructionsRequest } from '../../../features/conversations/memory/schemas.ts'
import { CreateTaskRequest } from '../../../features/conversations/scheduled-tasks/schemas.ts'

const NEVER_LITERAL = `must be a reference, \${env:NAME} or \${file:PATH}: a secret never stands in this file`
/** `${env:NAME}` or `${file:PATH}`, and nothing else. */
const Reference = z.string(NEVER_LITERAL).regex(/^\$\{(?:env|file):[^}]+\}$/, NEVER_LITERAL)
/** Text that may contain references; a URL is validated after they are resolved. */
const WithReferences = z.string('must be text').min(1, 'must not be empty').max(8192, 'is too long')

const { model: _model, plan: _plan, ...settings } = ChosenSettings.shape
/** Settings of an agent. */
const plainSettings = Object.fromEntries(
  Object.entries(settings).filter(([name]) => !SECRET_NAMES.some((secret) => secret === name)),
) as Omit<typeof settings, (typeof SECRET_NAMES)[number]>
export const PLAIN_NAMES = z.strictObject(plainSettings).keyof().options

/** An MCP server: reached by `url` with headers, or started by `command` with arguments and environment. */
const Server = z.strictObject({
  name: AddServerRequest.shape.name,
  url: WithReferences.optional(),
  headers: z.record(z.string(), WithReferences).default({}),
  bearer: Reference.optional(),
  command: AddServerRequest.shape.command,
  args: z.array(z.string('must be text').max(8192, 'is too long')).max(50).default([]),
  environment: z.record(z.string(), WithReferences).default({}),
  allowedTools: AddServerRequest.shape.allowedTools,
  trustedTools: AddServerRequest.shape.trustedTools,
  enabled: AddServerRequest.shape.enabled,
})

const Schedule = z.strictObject({
  ...CreateTaskRequest.omit({ agentId: true }).shape,
  description: CreateTaskRequest.shape.description.default(null),
  timezone: CreateTaskRequest.shape.timezone.default('UTC'),
})

const ONE_KIND = 'must have a url (with headers or bearer) or a command (with args and environment), not both'

function isOneKind({ url, headers, bearer, command, args, environment }: z.infer<typeof Server>): boolean {
  const ofUrl = bearer !== undefined || Object.keys(headers).length > 0
  const ofCommand = args.length > 0 || Object.keys(environment).length > 0
  if (url === undefined) return command !== undefined && !ofUrl
  return command === undefined && !ofCommand
}

/** Interval of the heartbeat prompt, and the agent (name or id) that receives it; all agents without `agent`. */
const WantedHeartbeat = z.strictObject({
  frequency: ChangeHeartbeatRequest.shape.frequency,
  enabled: ChangeHeartbeatRequest.shape.enabled,
  agent: z.string().min(1).max(100).nullable().optional(),
})
export type WantedHeartbeat = z.infer<typeof WantedHeartbeat>

/** Desired state of one agent. Omitted fields are not changed; a list replaces the whole list. */
const WantedAgent = z.strictObject({
  /** Only needed when several agents have the name. */
  id: z.string().min(1).max(100).optional(),
  name: ProvisionRequest.shape.name.max(64, 'Name too long (max 64 chars)'),
  model: ChosenSettings.shape.model,
  settings: z.strictObject(plainSettings).optional(),
  secrets: z.partialRecord(z.enum(SECRET_NAMES), Reference.nullable()).optional(),
  labels: LabelsRequest.shape.labels.optional(),
  /** Instructions for every session; an empty text means none. */
  instructions: InstructionsRequest.shape.text.optional(),
  /** Daily model usage limits (UTC). */
  caps: z.strictObject(Caps.partial().shape).optional(),
  tools: ToolsRequest.optional(),
  schedules: z.array(Schedule).max(1000).optional(),
  mcpServers: z.array(Server.refine(isOneKind, ONE_KIND)).max(100).optional(),
  channels: z
    .strictObject({
      mail: z.boolean('must be true or false').optional(),
      webhook: z.strictObject({ url: WithReferences }).nullable().optional(),
    })
    .optional(),
})
export type WantedAgent = z.infer<typeof WantedAgent>
export type WantedServer = z.infer<typeof Server>
export type WantedSchedule = z.infer<typeof Schedule>

/** An API key by name. `apply` reports these and creates none, because the secret is returned only at creation. */
const NamedKey = z.strictObject({
  name: z.string().min(1).max(64),
  scopes: z.array(z.string()).optional(),
  expiresAt: z.string().optional(),
})

/** A fleet file. */
export const FleetFile = z.strictObject({
  version: z.literal(1, 'version must be 1'),
  agents: z.array(WantedAgent).max(10_000),
  heartbeat: WantedHeartbeat.optional(),
  keys: z.array(NamedKey).max(10_000).optional(),
})
/** Desired state of a fleet. */
export type WantedFleet = z.infer<typeof FleetFile>
/** The file as written: fields with defaults may be missing. */
export type FleetDocument = z.input<typeof FleetFile>
