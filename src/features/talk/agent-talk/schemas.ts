import { z } from 'zod'

const AgentId = z.string('agentId must be text').max(100, 'agentId must be at most 100 characters').optional()

/** What an agent may be given credentials for. */
export const CREDENTIALS = ['anthropic', 'openai', 'openrouter', 'google', 'telegram', 'discord', 'whatsapp'] as const
export type CredentialKey = (typeof CREDENTIALS)[number]

/** `GET /api/agent?action=&agentId=&sessionId=`. */
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

/** `POST /v1/agents/:id/messages`. */
export const AskAgentRequest = z.object({
  message: z
    .string('message is required')
    .trim()
    .min(1, 'message is required')
    .max(20_000, 'message must be at most 20000 characters'),
})

/** `POST /api/agent`; without an action it is a message. */
export const AgentActionRequest = z
  .looseObject({ action: z.string('Invalid action').default('chat') }, 'Invalid action')
  .pipe(
    z.discriminatedUnion(
      'action',
      [ChatAction, CreateSessionAction, UpdateSkillAction, SetCredentialAction],
      'Invalid action',
    ),
  )
export type AgentActionRequest = z.infer<typeof AgentActionRequest>
