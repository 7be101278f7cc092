import { z } from 'zod'
import { AgentStatus } from '../registry/schemas.ts'

/** `GET /api/agents`. */
export const BackendAgentsAnswer = z.array(
  z.object({ id: z.string(), status: z.string(), created: z.string(), subdomain: z.string(), url: z.string() }),
)

/** `POST /api/agents`. */
export const BackendNewAgentsAnswer = z.object({
  id: z.string(),
  name: z.string(),
  agentId: z.string(),
  status: AgentStatus,
  subdomain: z.string(),
  url: z.string(),
  createdAt: z.string(),
})

/** `GET /api/agents/:id`. */
export const BackendAgentAnswer = z.object({
  id: z.string(),
  status: z.string(),
  startedAt: z.string().nullable(),
  plan: z.string(),
  subdomain: z.string(),
  url: z.string(),
  runtimeVersion: z.string().nullable(),
  lastError: z.string().nullable(),
  verified: z.boolean(),
  verificationType: z.string().nullable(),
  attestationUid: z.string().nullable(),
  verifiedAt: z.string().nullable(),
})

/** `PUT /api/agents/:id`. */
export const BackendChangedAgentAnswer = z.object({
  id: z.string(),
  plan: z.string(),
  aiProvider: z.string(),
  subdomain: z.string(),
  status: z.string(),
  message: z.string(),
})

/** `GET /api/agents/:id/config`. */
export const AgentConfigAnswer = z.object({
  config: z.object({
    plan: z.string(),
    aiProvider: z.string(),
    model: z.string(),
    secrets: z.record(z.string(), z.boolean()),
    telegramUserId: z.string().optional(),
    ownerIds: z.array(z.string()).optional(),
    skills: z.array(z.string()).optional(),
    template: z.string().optional(),
    brain: z.string().optional(),
    tier: z.string().optional(),
    agentType: z.string().optional(),
    subscriptionId: z.string().optional(),
    webhookUrl: z.string().optional(),
  }),
  status: z.string(),
})

/** `GET /api/agents`. */
export const AgentsAnswer = z.object({
  agents: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      model: z.string(),
      status: AgentStatus,
      websocketUrl: z.string(),
      lastError: z.string().nullable(),
      createdAt: z.string(),
      updatedAt: z.string(),
    }),
  ),
  count: z.number(),
  status: z.string(),
})

/** `POST /api/agents/provision`. */
export const NewAgentsProvisionAnswer = z.object({
  error: z.string().optional(),
  success: z.literal(true),
  agent: z.object({
    id: z.string(),
    name: z.string(),
    model: z.string(),
    status: AgentStatus,
    websocketUrl: z.string(),
    lastError: z.string().nullable(),
    createdAt: z.string(),
  }),
})

/** `GET /api/agents/provision`. */
export const AgentsProvisionAnswer = z.object({
  success: z.literal(true),
  agents: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      model: z.string(),
      status: AgentStatus,
      websocketUrl: z.string(),
      lastError: z.string().nullable(),
      createdAt: z.string(),
      updatedAt: z.string(),
    }),
  ),
  count: z.number(),
})

/** `POST /api/agents`. */
export const NewAgentsAnswer = z.object({
  agent: z.object({
    id: z.string(),
    name: z.string(),
    model: z.string(),
    status: AgentStatus,
    websocketUrl: z.string(),
    lastError: z.string().nullable(),
    createdAt: z.string(),
    updatedAt: z.string(),
  }),
  id: z.string(),
  name: z.string(),
  agentId: z.string(),
  status: AgentStatus,
  subdomain: z.string(),
  url: z.string(),
  createdAt: z.string(),
})

/** `GET /api/agents/:id`. */
export const AgentAnswer = z.object({
  agent: z.object({
    id: z.string(),
    name: z.string(),
    model: z.string(),
    status: AgentStatus,
    websocketUrl: z.string(),
    lastError: z.string().nullable(),
    createdAt: z.string(),
    updatedAt: z.string(),
  }),
  status: z.string(),
  paymentUndoneAt: z.string().nullable(),
})

/** `PUT /api/agents/:id`. */
export const ChangedAgentAnswer = z.object({
  agent: z.object({
    plan: z.string(),
    aiProvider: z.string(),
    id: z.string(),
    name: z.string(),
    model: z.string(),
    status: AgentStatus,
    websocketUrl: z.string(),
    lastError: z.string().nullable(),
    createdAt: z.string(),
    updatedAt: z.string(),
  }),
  id: z.string(),
  plan: z.string(),
  aiProvider: z.string(),
  subdomain: z.string(),
  status: z.string(),
  message: z.string(),
})

/** `PATCH /api/agents/:id`. */
export const ChangedAgentAnswer2 = z.object({
  success: z.literal(true),
  agent: z.object({
    id: z.string(),
    name: z.string(),
    status: AgentStatus,
    updatedAt: z.string(),
  }),
})
