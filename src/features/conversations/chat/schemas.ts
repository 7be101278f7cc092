import { z } from 'zod'
import { END_REASONS } from '../../../core/agents/collect-turn.ts'
import { PLATFORMS } from '../../../core/agents/platforms.ts'
import { PageLimit } from '../../../core/page-limit.ts'

export const MAX_ATTACHMENTS = 8

/** Query of `POST /api/chat/attachments`, whose body is the file; `agentId` defaults as in `POST /api/chat`. */
export const AttachmentQuery = z.object({
  name: z.string('name required').trim().min(1, 'name required').max(200, 'name must be at most 200 characters'),
  agentId: z.string().max(100).optional(),
})

/** A file of a message. `path` is its place in the agent's workspace. */
export const ChatAttachment = z.object({
  id: z.string(),
  name: z.string(),
  mediaType: z.string(),
  sizeBytes: z.number(),
  path: z.string(),
})
export type ChatAttachment = z.infer<typeof ChatAttachment>
export const OneAttachment = z.object({ attachment: ChatAttachment })

/**
 * Body of `POST /api/chat`. `agentId` defaults to the session's agent, else to the user's newest running agent;
 * `stream` requests server-sent events. `replaces` is an earlier message of the user: this one replaces it and
 * everything after it. `attachments` are ids of uploaded files; if omitted with `replaces`, the earlier message's files
 * are kept.
 */
export const SendMessageRequest = z
  .object({
    message: z
      .string('Message required')
      .trim()
      .min(1, 'Message required')
      .max(100_000, 'Message must be at most 100000 characters'),
    topic: z.string('topic must be text').trim().max(200, 'topic must be at most 200 characters').optional(),
    agentId: z.string('agentId must be text').max(100, 'agentId must be at most 100 characters').optional(),
    sessionId: z.string('sessionId must be text').max(100, 'sessionId must be at most 100 characters').optional(),
    replaces: z.string('replaces must be text').max(100, 'replaces must be at most 100 characters').optional(),
    attachments: z
      .array(z.string().max(100), 'attachments must be a list of ids')
      .max(MAX_ATTACHMENTS, `A message has at most ${MAX_ATTACHMENTS} attachments`)
      .optional(),
    stream: z.boolean('stream must be true or false').optional(),
  })
  .meta({
    examples: [
      { message: 'What is on today?', agentId: 'ada' },
      { message: 'And tomorrow?', sessionId: 'session_1', stream: true },
    ],
  })
export type SendMessageRequest = z.infer<typeof SendMessageRequest>

/** Answer to a message; also the data of a stream's `done` event. */
export const SentMessage = z.object({
  id: z.string(),
  agentId: z.string(),
  message: z.string(),
  topic: z.string().nullable(),
  status: z.literal('sent'),
  timestamp: z.string(),
  reply: z.string(),
})
export type SentMessage = z.infer<typeof SentMessage>

/** Data of a stream's `delta` event. */
export const ReplyDelta = z.object({ text: z.string() })
export type ReplyDelta = z.infer<typeof ReplyDelta>

/** Query of `GET /api/chat`: `before` is the id of the oldest known message. */
export const MessageQuery = z.object({
  agentId: z.string().max(100).optional(),
  limit: PageLimit,
  before: z.string().max(100).optional(),
  /** A session id, or `none` for messages outside of sessions. */
  sessionId: z.string().max(100).optional(),
  /** A message id: returns the messages that it replaced, which are hidden otherwise. */
  replacedBy: z.string().max(100).optional(),
})
export type MessageQuery = z.infer<typeof MessageQuery>

/** Summary of a turn; `GET /api/chat/turns/:id` has the arguments and results of its tool calls. */
export const TurnSummary = z.object({
  id: z.string(),
  /** Number of times the agent resumed the turn after a crash. */
  restarts: z.number(),
  /** `TURN_INTERRUPTED` for a turn that could not be resumed. */
  errorCode: z.string().nullable(),
  model: z.string().nullable(),
  inputTokens: z.number().nullable(),
  outputTokens: z.number().nullable(),
  costUsd: z.number().nullable(),
  durationMs: z.number().nullable(),
  endedBy: z.enum(END_REASONS).nullable(),
  toolCalls: z.array(z.object({ name: z.string(), success: z.boolean(), durationMs: z.number() })),
})
export type TurnSummary = z.infer<typeof TurnSummary>

/**
 * A message. `failed` marks a question without a complete reply, and a partial reply; `stopped` marks one that the user
 * stopped.
 */
export const ChatMessage = z.object({
  id: z.string(),
  agentId: z.string(),
  sender: z.enum(['user', 'agent']),
  content: z.string(),
  topic: z.string().nullable(),
  status: z.enum(['sent', 'stopped', 'failed']),
  timestamp: z.string(),
  /** Platform of the message. `author` is the sender's name on a messenger, null on the web and for the agent. */
  platform: z.enum(PLATFORMS),
  author: z.string().nullable(),
  /** Missing for messages outside of sessions. */
  sessionId: z.string().optional(),
  /** Set for the reply of a turn, and for a question without a reply. */
  turn: TurnSummary.optional(),
  attachments: z.array(ChatAttachment).optional(),
})
export type ChatMessage = z.infer<typeof ChatMessage>

/** Oldest first. `hasMore`: older messages exist. */
export const MessageList = z.object({ messages: z.array(ChatMessage), count: z.number(), hasMore: z.boolean() })
export type MessageList = z.infer<typeof MessageList>

/**
 * A `running` turn continues without listeners; `stopped` means stopped by the user; `failed` has a reason in `error`.
 */
const TurnState = z.enum(['running', 'done', 'stopped', 'failed'])

/** A tool call; `arguments` and `result` are JSON or text, truncated if long. */
export const ToolCall = z.object({
  name: z.string(),
  arguments: z.string(),
  result: z.string(),
  success: z.boolean(),
  durationMs: z.number(),
})
export type ToolCall = z.infer<typeof ToolCall>

/**
 * The turn that answers one message. `text` is the answer so far, and `position` an event id from which to continue.
 * After the end, `replyId` is the agent's message, if it wrote one.
 */
export const ChatTurn = z.object({
  id: z.string(),
  agentId: z.string(),
  sessionId: z.string().nullable(),
  questionId: z.string(),
  replyId: z.string().nullable(),
  state: TurnState,
  error: z.string().nullable(),
  errorCode: z.string().nullable(),
  /** Number of times the agent resumed the turn after a crash; `text` starts at the last one. */
  restarts: z.number(),
  message: z.string(),
  text: z.string(),
  position: z.number(),
  toolCalls: z.array(ToolCall),
  /** Null while unknown; `costUsd` stays null if the agent reports no generation ids. */
  model: z.string().nullable(),
  inputTokens: z.number().nullable(),
  outputTokens: z.number().nullable(),
  costUsd: z.number().nullable(),
  durationMs: z.number().nullable(),
  /** The limit that ended a turn whose `state` is `done`. */
  endedBy: z.enum(END_REASONS).nullable(),
  createdAt: z.string(),
  finishedAt: z.string().nullable(),
})
export type ChatTurn = z.infer<typeof ChatTurn>

/** Query of `GET /api/chat/turns`: running turns, oldest first. */
export const TurnQuery = z.object({ agentId: z.string().max(100).optional() })
export type TurnQuery = z.infer<typeof TurnQuery>
export const TurnList = z.object({ turns: z.array(ChatTurn) })
export const OneTurn = z.object({ turn: ChatTurn })

/**
 * Query of `GET /api/chat/turns/:id/events`: the position to continue from; a `Last-Event-ID` header takes precedence.
 */
export const TurnEventsQuery = z.object({
  after: z.coerce
    .number('after must be a number')
    .int('after must be a whole number')
    .min(0, 'after must be at least 0')
    .default(0),
})

/** Data of a stream's `restart` event: the agent answers again, and earlier events are void. */
export const TurnRestart = z.object({ restarts: z.number() })
export type TurnRestart = z.infer<typeof TurnRestart>

/** Data of a stream's `stopped` and `failed` events. */
export const TurnOver = z.object({
  turnId: z.string(),
  error: z.string(),
  reply: z.string(),
  code: z.string().optional(),
})
export type TurnOver = z.infer<typeof TurnOver>

const Limit = z.coerce
  .number('limit must be a number')
  .int('limit must be a whole number')
  .min(1, 'limit must be at least 1')
  .max(100, 'limit must be at most 100')

/** Search words and page. */
export const SearchPage = z.object({
  q: z.string('q required').trim().min(1, 'q required').max(200, 'q must be at most 200 characters'),
  limit: Limit.default(20),
  before: z.string().max(100).optional(),
})

/** Query of `GET /api/chat/search`: `before` is the id of the last message found. */
export const ChatSearchQuery = SearchPage.extend({ agentId: z.string().max(100).optional() })
export type ChatSearchQuery = z.infer<typeof ChatSearchQuery>

/** Newest first; `snippet` is the passage found, in parts. */
export const SearchResults = z.object({
  results: z.array(
    z.object({ message: ChatMessage, snippet: z.array(z.object({ text: z.string(), isFound: z.boolean() })) }),
  ),
  hasMore: z.boolean(),
})
export type SearchResults = z.infer<typeof SearchResults>

const Title = z
  .string('title must be text')
  .trim()
  .min(1, 'title must not be empty')
  .max(100, 'title must be at most 100 characters')

const Instructions = z
  .string('instructions must be text')
  .trim()
  .max(8000, 'instructions must be at most 8000 characters')

/** Query of `GET /api/chat/sessions`: `before` is the id of the last known session. */
export const SessionQuery = z.object({
  agentId: z.string().max(100).optional(),
  limit: Limit.default(30),
  before: z.string().max(100).optional(),
})
export type SessionQuery = z.infer<typeof SessionQuery>

export const NewSessionRequest = z.object({
  agentId: z.string('agentId must be text').max(100, 'agentId must be at most 100 characters').optional(),
  title: Title.optional(),
  instructions: Instructions.optional(),
})
export type NewSessionRequest = z.infer<typeof NewSessionRequest>

/** Body of `PATCH /api/chat/sessions/:id`. Omitted fields stay unchanged; empty instructions remove them. */
export const ChangeSessionRequest = z
  .object({ title: Title.optional(), instructions: Instructions.optional() })
  .refine(({ title, instructions }) => title !== undefined || instructions !== undefined, 'title is required')
  .meta({ examples: [{ title: 'Tea' }, { instructions: 'Answer in rhymes.' }] })
export type ChangeSessionRequest = z.infer<typeof ChangeSessionRequest>

/**
 * A conversation with one agent. Its title defaults to its first message; null before that. `instructions` apply to
 * every turn of this session.
 */
export const ChatSession = z.object({
  id: z.string(),
  agentId: z.string(),
  title: z.string().nullable(),
  instructions: z.string().nullable(),
  /** A conversation on a messenger can be read and deleted here, but not answered. */
  platform: z.enum(PLATFORMS),
  createdAt: z.string(),
  lastActivity: z.string(),
})
export type ChatSession = z.infer<typeof ChatSession>

/** Latest activity first. */
export const ChatSessionList = z.object({ sessions: z.array(ChatSession), hasMore: z.boolean() })
export type ChatSessionList = z.infer<typeof ChatSessionList>

/** Answer of `POST /api/chat/sessions`. */
export const OneSession = z.object({ session: ChatSession })

/** A conversation on a messenger, by mail or by webhook; `session` is the agent's session key. */
export const ChannelConversation = z.object({
  session: z.string(),
  channel: z.enum(PLATFORMS),
  messageCount: z.number(),
  createdAt: z.string(),
  lastActivity: z.string(),
})
export type ChannelConversation = z.infer<typeof ChannelConversation>

/**
 * Answer of `GET /api/agents/:id/conversations`; `untold` is `openclaw` for an agent of that runtime that has reported
 * none.
 */
export const ConversationList = z.object({
  conversations: z.array(ChannelConversation),
  untold: z.enum(['openclaw']).nullable(),
})
export type ConversationList = z.infer<typeof ConversationList>

/** Answer of `GET /api/agents/:id/conversations/:session`, oldest first. */
export const ConversationMessages = z.object({
  messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.string(), at: z.string() })),
})
export type ConversationMessages = z.infer<typeof ConversationMessages>
