import type { ZodType } from 'zod'
import { z } from 'zod'
import { AppError } from '../core/errors.ts'
import { PLANS } from '../features/accounts/plans/plans.ts'
import { type CompleteDeps, complete } from '../features/ai/gateway/completions.ts'
import { DIRECT } from '../features/ai/usage/tables.ts'
import { type ChatDeps, findAddressee, openTurn, sendMessage, type Turn } from '../features/conversations/chat/send.ts'
import type { Plugin, Plugins } from '../features/payments/paid-gateway/routes.ts'
import type { ReadUrlDeps } from '../features/web-tools/summarizer/pages.ts'
import { extract, summarize } from '../features/web-tools/summarizer/pages.ts'
import { ExtractRequest, SummarizeRequest } from '../features/web-tools/summarizer/schemas.ts'
import type { SignedInUser } from '../http/env.ts'

/** User id under which paid calls are recorded: a caller who pays per call does not use up a plan. */
const PAYERS = 'gateway'
const ENDPOINT = '/api/v1/gateway'
const CENT = 10_000
const MAX_TOKENS = 1024
const MAX_CHARACTERS = 16_000
/** Plan of paid calls: small models, whose answers cost far less than the price. */
const PAYERS_PLAN = { ...PLANS.label, tokensPerMonth: null }

const Messages = z
  .array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }), 'messages required')
  .min(1, 'messages required')
  .refine(
    (messages) => messages.reduce((length, { content }) => length + content.length, 0) <= MAX_CHARACTERS,
    `messages must have at most ${MAX_CHARACTERS} characters`,
  )
const TextRequest = z.object({
  messages: Messages,
  model: z.string('model must be text').max(200, 'model is too long').optional(),
  max_tokens: z.int('max_tokens must be a whole number').min(1).max(MAX_TOKENS).default(MAX_TOKENS),
})
const AgentRequest = z
  .object({
    agentId: z.string('agentId must be text').max(100).optional(),
    message: z.string('message required').max(MAX_CHARACTERS).optional(),
    messages: Messages.optional(),
  })
  .transform(({ agentId, message, messages }) => ({ agentId, message: message ?? messages?.at(-1)?.content ?? '' }))
  .refine(({ message }) => message.trim() !== '', 'message required')

/**
 * Returns the services that callers can pay for per request. They belong to higher domains and are passed down here.
 */
export function gatewayPlugins(deps: CompleteDeps & ChatDeps & ReadUrlDeps): Plugins {
  return new Map<string, Plugin>([
    ['generate-text', generateText(deps)],
    [
      'summarize',
      pagePlugin('Page Summary', 'Summary of a web page', SummarizeRequest, (request) => summarize(deps, request)),
    ],
    [
      'extract',
      pagePlugin('Page Extraction', 'Links, images and data of a web page', ExtractRequest, ({ url }) =>
        extract(deps, url),
      ),
    ],
    ['agent', askAgent(deps)],
  ])
}

function generateText(deps: CompleteDeps): Plugin {
  return {
    name: 'Text Generation',
    description: 'Text generation (LLM inference)',
    priceMicroUsd: CENT,
    check: ({ body }) => void parse(TextRequest, body),
    async run({ body, signal }) {
      const { messages, model, max_tokens } = parse(TextRequest, body)
      const sent = { ...(model && { model }), messages, max_tokens, stream: false }
      const caller = { userId: PAYERS, agentId: DIRECT, plan: PAYERS_PLAN, key: null, aiProvider: null }
      const request = {
        caller,
        requested: model ? { model } : {},
        body: sent,
        json: JSON.stringify(sent),
        endpoint: ENDPOINT,
      }
      const answer = await complete(deps, { ...request, signal })
      return { text: answer.content, model: answer.model.id, generationId: answer.generationId }
    },
  }
}

function pagePlugin<Request>(
  name: string,
  description: string,
  schema: ZodType<Request>,
  read: (request: Request) => Promise<Record<string, unknown>>,
): Plugin {
  return {
    name,
    description,
    priceMicroUsd: CENT,
    check: ({ body }) => void parse(schema, body),
    run: ({ body }) => read(parse(schema, body)),
  }
}

/** Sends a message to one of the caller's own agents. */
function askAgent(deps: ChatDeps): Plugin {
  return {
    name: 'Agent',
    description: 'Agent orchestrator request',
    priceMicroUsd: 5 * CENT,
    check({ body, user }) {
      const { agentId } = parse(AgentRequest, body)
      findAddressee(deps.db, requireUser(user), agentId)
    },
    async run({ body, user, signal }) {
      const turn = await openTurn(deps, requireUser(user), parse(AgentRequest, body))
      const { id, agentId, reply } = await sendMessage(deps, turn, signal).catch(toStoppedReply(turn))
      return { id, agentId, reply }
    },
  }
}

/** A reply that its user stopped is charged: otherwise stopping a reply at its last word would make it free. */
function toStoppedReply({ question }: Turn) {
  return (error: unknown) => {
    if (!(error instanceof AppError && error.extra.code === 'TURN_STOPPED')) throw error
    const { id, agentId } = question
    return { id, agentId, reply: error.extra.reply }
  }
}

/** Returns the signed-in user. @throws AppError `unauthenticated` with the message that existing clients expect. */
function requireUser(user: SignedInUser | null): SignedInUser {
  if (!user) throw new AppError('unauthenticated', 'Unauthorized', { message: 'Authentication required' })
  return user
}

function parse<T>(schema: ZodType<T>, body: Record<string, unknown>): T {
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid body')
  return parsed.data
}
