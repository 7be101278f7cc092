import { z } from 'zod'
import { AgentStatus } from '../../agents/registry/schemas.ts'

/** `GET /v1/agents`. */
export const BackendAgentsAnswer = z.object({
  agents: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      status: AgentStatus,
      specialization: z.string().nullable(),
    }),
  ),
})

/** `POST /v1/agents/:id/messages`. */
export const BackendAgentMessagesAnswer = z.object({ reply: z.string() })

/** `GET /api/agent`. */
export const AgentAnswer = z.union([
  z.object({
    apiVersion: z.literal('1.0.0'),
    agentbotVersion: z.string(),
    endpoints: z.object({
      'GET /api/agent': z.string(),
      'GET /api/agent?action=health': z.string(),
      'GET /api/agent?action=sessions': z.string(),
      'GET /api/agent?action=session&sessionId=': z.string(),
      'GET /api/agent?action=memory': z.string(),
      'GET /api/agent?action=skills': z.string(),
      'GET /api/agent?action=credentials': z.string(),
      'POST /api/agent {action: chat, message, sessionId?}': z.string(),
      'POST /api/agent {action: create-session}': z.string(),
      'POST /api/agent {action: update-skill, skillId, enabled?, agentId?}': z.string(),
      'POST /api/agent {action: set-credential, key, value?}': z.string(),
    }),
  }),
  z.object({
    agentId: z.string(),
    status: AgentStatus,
    version: z.null(),
    apiVersion: z.string(),
    uptime: z.number(),
    model: z.string(),
    channels: z.array(z.string()),
    skills: z.array(z.string()),
    lastSeen: z.number().nullable(),
  }),
  z.object({
    version: z.string().nullable(),
    uptime: z.number(),
    model: z.string(),
    lastSeen: z.number(),
    agentId: z.string(),
    status: AgentStatus,
    apiVersion: z.string(),
    channels: z.array(z.string()),
    skills: z.array(z.string()),
  }),
  z.object({
    sessions: z.array(
      z.object({
        id: z.string(),
        status: z.enum(['active', 'completed', 'idle']),
        messageCount: z.number(),
        createdAt: z.number(),
        lastActivity: z.number(),
      }),
    ),
  }),
  z.object({
    session: z.object({
      id: z.string(),
      userId: z.string(),
      agentId: z.string(),
      status: z.enum(['active', 'completed', 'idle']),
      messages: z.array(z.object({ timestamp: z.number(), role: z.string(), content: z.string() })),
      createdAt: z.number(),
      lastActivity: z.number(),
    }),
  }),
  z.object({ memory: z.array(z.object({ role: z.string(), content: z.string() })) }),
  z.object({
    skills: z.array(z.object({ id: z.string(), name: z.string(), description: z.string(), enabled: z.boolean() })),
  }),
  z.object({ credentials: z.record(z.string(), z.boolean()) }),
])

/** `POST /api/agent`. */
export const NewAgentAnswer = z.union([
  z.object({ sessionId: z.string().nullable(), reply: z.string(), timestamp: z.number() }),
  z.object({ sessionId: z.string(), status: z.string() }),
  z.object({ success: z.boolean(), skillId: z.string(), enabled: z.boolean() }),
  z.object({
    success: z.boolean(),
    key: z.enum(['telegram', 'discord', 'openrouter', 'google', 'anthropic', 'openai', 'whatsapp']),
    configured: z.boolean(),
  }),
])
