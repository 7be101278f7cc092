import { z } from 'zod'

/** The name and the model of an agent reach it as variables of its environment, which end at the first NUL. */
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

/** Words an agent's status can take (rulings, 19); `active` is the backend's word for `running`. */
export const AgentStatus = z.enum(['pending', 'provisioning', 'running', 'stopped', 'error', 'unknown'])
export type AgentStatus = z.infer<typeof AgentStatus>

/** Plan and provider of an agent, the two known fields; others are stripped. */
export const AgentConfig = z.object({
  plan: z.string('plan must be text').max(40, 'plan must be at most 40 characters').optional(),
  aiProvider: z.string('aiProvider must be text').max(40, 'aiProvider must be at most 40 characters').optional(),
})
export type AgentConfig = z.infer<typeof AgentConfig>

/** `POST /api/agents/provision` (Spec 4.4, web). Without `model` the best configured one is taken. */
export const ProvisionRequest = z.object({
  name: Name,
  model: Model.optional(),
  config: AgentConfig.optional(),
  tier: z.enum(['starter', 'pro', 'enterprise'], 'tier must be starter, pro or enterprise').optional(),
})
export type ProvisionRequest = z.infer<typeof ProvisionRequest>

/** `POST /api/agents` (Spec 4.4): a row without a container. */
export const CreateAgentRequest = z.object({ name: Name, config: AgentConfig.optional() })
export type CreateAgentRequest = z.infer<typeof CreateAgentRequest>

/** `PUT /api/agents/:id` (Spec 4.4). */
export const UpdateAgentRequest = z.object({
  plan: AgentConfig.shape.plan,
  aiProvider: AgentConfig.shape.aiProvider,
  config: AgentConfig.optional(),
})
export type UpdateAgentRequest = z.infer<typeof UpdateAgentRequest>

/** An agent as the dashboard lists it. */
export const WebAgent = z.object({
  id: z.string(),
  name: z.string(),
  model: z.string(),
  status: AgentStatus,
  websocketUrl: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
})
export type WebAgent = z.infer<typeof WebAgent>

/** `GET /api/agents` on the web: a wrapped list, empty for nobody. */
export const WebAgentList = z.object({ agents: z.array(WebAgent), count: z.number(), status: z.literal('ok') })
export type WebAgentList = z.infer<typeof WebAgentList>

export const WebAgentDetail = z.object({ agent: WebAgent, status: z.literal('ok') })
export type WebAgentDetail = z.infer<typeof WebAgentDetail>

/** `POST /api/agents/provision`, 201. */
export const ProvisionResponse = z.object({ success: z.literal(true), agent: WebAgent.omit({ updatedAt: true }) })
export type ProvisionResponse = z.infer<typeof ProvisionResponse>

/** Where a deployment stands; the last two are final. */
export const DeploymentStep = z.enum(['queued', 'port', 'starting', 'health', 'running', 'failed'])
export type DeploymentStep = z.infer<typeof DeploymentStep>

/** One `status` event of `GET /api/agents/:id/events`. `error` says in one sentence why a deployment failed. */
export const AgentEvent = z.object({
  status: AgentStatus,
  step: DeploymentStep.nullable(),
  error: z.string().nullable(),
})
export type AgentEvent = z.infer<typeof AgentEvent>
