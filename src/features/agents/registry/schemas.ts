import { z } from 'zod'
import { Isolation } from '../../../core/agents/isolation.ts'
import { PLATFORMS } from '../../../core/agents/platforms.ts'
import { configObject } from '../../../core/text/config-object.ts'
import { webUrl } from '../../../core/text/names.ts'
import { Guardrails } from '../../accounts/guardrails/schemas.ts'

/** Names and models become environment variables, which end at the first NUL. */
export const hasNoNul = (text: string) => !text.includes('\0')

const Name = z
  .string('Agent name is required')
  .trim()
  .min(1, 'Agent name is required')
  .max(100, 'Agent name must be at most 100 characters')
  .refine(hasNoNul, 'Agent name must not contain NUL')
const Model = z
  .string('Model must be text')
  .trim()
  .min(1, 'Model must be text')
  .max(200, 'Model must be at most 200 characters')
  .refine(hasNoNul, 'Model must not contain NUL')

/** Status of an agent; the backend says `active` for `running`. */
export const AgentStatus = z.enum(['pending', 'provisioning', 'running', 'sleeping', 'stopped', 'error', 'unknown'])
export type AgentStatus = z.infer<typeof AgentStatus>

const text = (name: string, max = 200) =>
  z
    .string(`${name} must be text`)
    .trim()
    .min(1, `${name} must not be empty`)
    .max(max, `${name} must be at most ${max} characters`)
    .refine(hasNoNul, `${name} must not contain NUL`)
/** A list whose items reach the agent separated by commas. */
const listOf = (name: string) =>
  z
    .array(
      text(name, 100).refine((word) => !word.includes(','), `${name} must not contain commas`),
      `${name} must be a list of texts`,
    )
    .max(100, `${name} must have at most 100 entries`)
/** A credential is sent in headers and files, so it has one line. */
const secret = (name: string) =>
  text(name, 1000).refine((value) => !/\s/.test(value), `${name} must not contain white space`)

/** Providers an agent can use; `ollama` and `local` run on this machine. */
export const AI_PROVIDERS = [
  'openrouter',
  'gemini',
  'google',
  'groq',
  'anthropic',
  'openai',
  'ollama',
  'local',
] as const
const aiProvider = z
  .string('aiProvider must be text')
  .pipe(z.enum(AI_PROVIDERS, `Invalid aiProvider. Supported: ${AI_PROVIDERS.join(', ')}`))

/** Encrypted, write-only settings. */
export const SecretSettings = z.object({
  apiKey: secret('apiKey'),
  telegramToken: secret('telegramToken'),
  discordBotToken: secret('discordBotToken'),
  whatsappToken: secret('whatsappToken'),
  slackBotToken: secret('slackBotToken'),
  slackAppToken: secret('slackAppToken'),
  webhookUrl: webUrl('webhookUrl must be an http or https URL'),
})
export type SecretSettings = z.infer<typeof SecretSettings>
export type SecretName = keyof SecretSettings
export const SECRET_NAMES = SecretSettings.keyof().options

/** Settings that the owner may read. */
export const PlainSettings = z
  .object({
    telegramUserId: z.union([text('telegramUserId', 100), z.number().transform(String)]),
    ownerIds: listOf('ownerIds'),
    skills: listOf('skills'),
    template: text('template'),
    brain: text('brain'),
    tier: text('tier', 40),
    agentType: text('agentType', 40),
    subscriptionId: text('subscriptionId'),
    email: text('email'),
    neverSleeps: z.boolean('neverSleeps must be true or false'),
  })
  .partial()
export type PlainSettings = z.infer<typeof PlainSettings>

/** Settings that the owner chooses; null removes one. */
export const ChosenSettings = z.object({
  model: Model.optional(),
  aiProvider: aiProvider.optional(),
  plan: text('plan', 40).optional(),
  apiKey: SecretSettings.shape.apiKey.nullish(),
  telegramToken: SecretSettings.shape.telegramToken.nullish(),
  discordBotToken: SecretSettings.shape.discordBotToken.nullish(),
  whatsappToken: SecretSettings.shape.whatsappToken.nullish(),
  slackBotToken: SecretSettings.shape.slackBotToken.nullish(),
  slackAppToken: SecretSettings.shape.slackAppToken.nullish(),
  webhookUrl: SecretSettings.shape.webhookUrl.nullish(),
  telegramUserId: PlainSettings.shape.telegramUserId.nullish(),
  ownerIds: PlainSettings.shape.ownerIds.nullish(),
  skills: PlainSettings.shape.skills.nullish(),
  template: PlainSettings.shape.template.nullish(),
  brain: PlainSettings.shape.brain.nullish(),
  tier: PlainSettings.shape.tier.nullish(),
  agentType: PlainSettings.shape.agentType.nullish(),
  neverSleeps: PlainSettings.shape.neverSleeps.nullish(),
})

const dropped = z
  .unknown()
  .transform(() => undefined)
  .optional()

/**
 * `PUT /api/agents/:id/config`: the body is a `config` object; null removes a setting. Fields that only responses have,
 * and the subscription that older clients send, are accepted and ignored.
 */
export const ConfigRequest = configObject({
  ...ChosenSettings.shape,
  secrets: dropped,
  subscriptionId: dropped,
  stripeSubscriptionId: dropped,
}).meta({ examples: [{ model: 'openai/gpt-4o', telegramToken: '123456:ABC-DEF', webhookUrl: null }] })
export type ConfigRequest = z.infer<typeof ConfigRequest>

/**
 * An agent's settings for its owner. `webhookUrl` is only an origin, because its path may be a secret; `secrets` says
 * which secrets are set.
 */
export const ShownConfig = PlainSettings.omit({ email: true }).extend({
  plan: z.string(),
  aiProvider: z.string(),
  model: z.string(),
  telegramUserId: z.string().optional(),
  webhookUrl: z.string().optional(),
  secrets: z.record(z.enum(SECRET_NAMES), z.boolean()),
})
export type ShownConfig = z.infer<typeof ShownConfig>

/** `GET` and `PUT /api/agents/:id/config`. */
export const ConfigResponse = z.object({ config: ShownConfig, status: z.enum(['ok', 'updated']) })

/** `GET /api/agents/:id/messages?limit=&offset=`: at most 100 messages. */
export const AgentMessagesQuery = z.object({
  limit: z.coerce
    .number('limit must be a number')
    .int('limit must be a whole number')
    .min(1, 'limit must be at least 1')
    .default(50)
    .transform((limit) => Math.min(limit, 100)),
  offset: z.coerce
    .number('offset must be a number')
    .int('offset must be a whole number')
    .min(0, 'offset must not be negative')
    .default(0),
})
export type AgentMessagesQuery = z.infer<typeof AgentMessagesQuery>

/** A message in a conversation with an agent; `platform` is the messenger or the dashboard. */
const AgentMessage = z.object({
  id: z.string(),
  agentId: z.string(),
  sender: z.enum(['user', 'agent']),
  content: z.string(),
  timestamp: z.string(),
  platform: z.enum(PLATFORMS),
})
export const AgentMessages = z.object({
  messages: z.array(AgentMessage),
  total: z.number(),
  limit: z.number(),
  offset: z.number(),
  status: z.literal('ok'),
})
export type AgentMessages = z.infer<typeof AgentMessages>

/**
 * `POST /api/agents/provision`. Without `model` the plan's default is used; `tier` is `starter`, `pro` or `enterprise`,
 * any other means the smallest. `model` and `tier` override `config`.
 */
export const ProvisionRequest = z
  .object({
    name: Name,
    model: Model.optional(),
    config: ConfigRequest.optional(),
    tier: text('tier', 40).optional(),
  })
  .meta({ examples: [{ name: 'Ada', model: 'openai/gpt-4o', tier: 'starter' }] })
export type ProvisionRequest = z.infer<typeof ProvisionRequest>

/** `POST /api/agents`: creates a row without a container. */
export const CreateAgentRequest = z
  .object({ name: Name, config: ConfigRequest.optional() })
  .meta({ examples: [{ name: 'Ada', config: { plan: 'solo', aiProvider: 'openrouter' } }] })
export type CreateAgentRequest = z.infer<typeof CreateAgentRequest>

/** `PUT /api/agents/:id`. */
export const UpdateAgentRequest = z
  .object({
    plan: ChosenSettings.shape.plan,
    aiProvider: ChosenSettings.shape.aiProvider,
    config: ConfigRequest.optional(),
  })
  .meta({ examples: [{ plan: 'solo', config: { model: 'openai/gpt-4o' } }] })
export type UpdateAgentRequest = z.infer<typeof UpdateAgentRequest>

/** The name of an agent, as its form sends it. */
export const RenameAgentRequest = z.object({
  name: z
    .string('Name is required')
    .trim()
    .min(1, 'Name is required')
    .max(64, 'Name too long (max 64 chars)')
    .refine(hasNoNul, 'Name must not contain NUL'),
})

/** `PATCH /api/agents/:id`. With `logBodies` the bodies of the agent's model requests are stored for 7 days; null removes the guardrails. */
export const ChangeAgentRequest = RenameAgentRequest.partial()
  .extend({
    logBodies: z.boolean('logBodies must be true or false').optional(),
    guardrails: Guardrails.nullish(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), { error: 'Name is required' })
  .meta({ examples: [{ name: 'Ada' }, { logBodies: true }] })
export type ChangeAgentRequest = z.infer<typeof ChangeAgentRequest>

/** An agent in the dashboard's list. `lastError` says why it is in `error`, or why its last update was rolled back. */
export const WebAgent = z.object({
  id: z.string(),
  name: z.string(),
  model: z.string(),
  status: AgentStatus,
  websocketUrl: z.string(),
  lastError: z.string().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
})
export type WebAgent = z.infer<typeof WebAgent>

/** `GET /api/agents` of the web; empty for an anonymous client. */
export const WebAgentList = z.object({ agents: z.array(WebAgent), count: z.number(), status: z.literal('ok') })
export type WebAgentList = z.infer<typeof WebAgentList>

/**
 * How an agent is separated from the host and from other agents. `reason` says why it is not, or what it shares.
 * `egressEnforced`: the agent cannot connect past the platform's proxy.
 */
export const ShownIsolation = Isolation.extend({ state: z.enum(['isolated', 'not_isolated']) })
export type ShownIsolation = z.infer<typeof ShownIsolation>

/**
 * `paymentUndoneAt` is set when the chain dropped the payment for this clone. `runtime` is null before the first
 * deployment; an agent of `machine` runs on its owner's machine.
 */
export const WebAgentDetail = z.object({
  agent: WebAgent.extend({
    runtime: z.string().nullable(),
    logBodies: z.boolean(),
    guardrails: Guardrails.nullable(),
    isolation: ShownIsolation,
  }),
  status: z.literal('ok'),
  paymentUndoneAt: z.string().nullable(),
})
export type WebAgentDetail = z.infer<typeof WebAgentDetail>

/** `POST /api/agents/provision`, 201 for a created agent. `error` says why its deployment failed. */
export const ProvisionResponse = z.object({
  success: z.literal(true),
  agent: WebAgent.omit({ updatedAt: true }),
  error: z.string().optional(),
})
export type ProvisionResponse = z.infer<typeof ProvisionResponse>

/** Progress of a deployment; the last two are final. */
export const DeploymentStep = z.enum(['queued', 'port', 'starting', 'health', 'running', 'failed'])
export type DeploymentStep = z.infer<typeof DeploymentStep>

/**
 * A `status` event of `GET /api/agents/:id/events`. `error` says why a deployment failed; `detail` describes the
 * current step, such as the progress of a pull.
 */
export const AgentStatusEvent = z.object({
  status: AgentStatus,
  step: DeploymentStep.nullable(),
  error: z.string().nullable(),
  detail: z.string().nullish(),
})
export type AgentStatusEvent = z.infer<typeof AgentStatusEvent>
