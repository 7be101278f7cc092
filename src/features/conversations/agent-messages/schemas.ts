import { z } from 'zod'
import { AgentStatus, WebAgent } from '../../agents/registry/schemas.ts'

const AgentId = z.string('agentId must be text').max(100, 'agentId must be at most 100 characters').optional()

export const CREDENTIALS = ['anthropic', 'openai', 'openrouter', 'google', 'telegram', 'discord', 'whatsapp'] as const
export type CredentialKey = (typeof CREDENTIALS)[number]

/** Query of `GET /api/agent`. */
export const AgentQuery = z.object({
  action: z
    .string()
    .optional()
    .transform((action) => action || undefined)
    .pipe(z.enum(['health', 'sessions', 'session', 'memory', 'skills', 'credentials'], 'Invalid action').optional()),
  agentId: z
    .string()
    .max(100)
    .optional()
    .transform((id) => id || undefined),
  sessionId: z.string().max(100).optional(),
})
export type AgentQuery = z.infer<typeof AgentQuery>

const ChatAction = z.object({
  action: z.literal('chat'),
  message: z
    .string('userId and message required')
    .trim()
    .min(1, 'userId and message required')
    .max(100_000, 'Message must be at most 100000 characters'),
  sessionId: z.string('sessionId must be text').max(100, 'sessionId must be at most 100 characters').optional(),
  agentId: AgentId,
})
export type ChatAction = z.infer<typeof ChatAction>

const CreateSessionAction = z.object({ action: z.literal('create-session'), agentId: AgentId })

const UpdateSkillAction = z.object({
  action: z.literal('update-skill'),
  skillId: z.string('userId and skillId required').min(1, 'userId and skillId required').max(100),
  enabled: z.boolean('enabled must be true or false').default(false),
  agentId: AgentId,
})

const SetCredentialAction = z.object({
  action: z.literal('set-credential'),
  key: z
    .string('userId and key required')
    .min(1, 'userId and key required')
    .pipe(z.enum(CREDENTIALS, `key must be one of ${CREDENTIALS.join(', ')}`)),
  value: z.string('value must be text').max(10_000, 'value must be at most 10000 characters').optional(),
})

/** Body of `POST /v1/agents/:id/messages`. */
export const AskAgentRequest = z.object({
  message: z
    .string('message is required')
    .trim()
    .min(1, 'message is required')
    .max(20_000, 'message must be at most 20000 characters'),
})

/** Body of `POST /api/agent`; without an action it is a chat message. */
export const AgentActionRequest = z
  .looseObject({ action: z.string('Invalid action').default('chat') }, 'Invalid action')
  .pipe(
    z.discriminatedUnion(
      'action',
      [ChatAction, CreateSessionAction, UpdateSkillAction, SetCredentialAction],
      'Invalid action',
    ),
  )
  .meta({
    examples: [
      { action: 'chat', message: 'What is on today?' },
      { action: 'create-session' },
      { action: 'update-skill', skillId: 'event-ticketing', enabled: true },
      { action: 'set-credential', key: 'telegram', value: '123456:ABC-DEF' },
    ],
  })
export type AgentActionRequest = z.infer<typeof AgentActionRequest>

/** Answer of `GET /v1/agents`: the other agents of the same owner. */
export const OtherAgentList = z.object({
  agents: z.array(
    WebAgent.pick({ id: true, name: true, status: true }).extend({ specialization: z.string().nullable() }),
  ),
})

/** Answer of `POST /v1/agents/:id/messages`. */
export const AgentReply = z.object({ reply: z.string() })

/** Answer of `GET /api/agent` without an action: the actions and their purpose. */
const AgentApi = z.object({
  apiVersion: z.string(),
  agentbotVersion: z.string(),
  endpoints: z.record(z.string(), z.string()),
})

/** Times are in milliseconds since 1970, `uptime` is in seconds; `version` is null for an agent that does not run. */
const AgentHealth = z.object({
  agentId: z.string(),
  status: AgentStatus,
  version: z.string().nullable(),
  apiVersion: z.string(),
  uptime: z.number(),
  model: z.string(),
  channels: z.array(z.string()),
  skills: z.array(z.string()),
  lastSeen: z.number().nullable(),
})

const Line = z.object({ role: z.string(), content: z.string() })
const ApiSession = z.object({
  id: z.string(),
  status: z.enum(['active', 'completed', 'idle']),
  createdAt: z.number(),
  lastActivity: z.number(),
})

/** Answers of `GET /api/agent`, by action; times are in milliseconds since 1970. */
export const AgentView = z.union([
  AgentApi,
  AgentHealth,
  z.object({ sessions: z.array(ApiSession.extend({ messageCount: z.number() })) }),
  z.object({
    session: ApiSession.extend({
      userId: z.string(),
      agentId: z.string(),
      messages: z.array(Line.extend({ timestamp: z.number() })),
    }),
  }),
  z.object({ memory: z.array(Line) }),
  z.object({
    skills: z.array(z.object({ id: z.string(), name: z.string(), description: z.string(), enabled: z.boolean() })),
  }),
  z.object({ credentials: z.record(z.string(), z.boolean()) }),
])

/** Answers of `POST /api/agent`, by action. */
export const AgentActionResult = z.union([
  AgentReply.extend({ sessionId: z.string().nullable(), timestamp: z.number() }),
  z.object({ sessionId: z.string(), status: z.string() }),
  z.object({ success: z.literal(true), skillId: z.string(), enabled: z.boolean() }),
  z.object({ success: z.literal(true), key: z.enum(CREDENTIALS), configured: z.boolean() }),
])
