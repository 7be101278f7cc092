import { z } from 'zod'
import { PLATFORMS } from '../../../core/agents/platforms.ts'
import { END_REASONS } from '../../../core/agents/turn-limits.ts'
import { PageLimit } from '../../../core/page-limit.ts'

export const MAX_ATTACHMENTS = 8

/** `POST /api/chat/attachments?name=&agentId=`, the file itself as the body; without `agentId` as `POST /api/chat`. */
export const AttachmentQuery = z.object({
  name: z.string('name required').trim().min(1, 'name required').max(200, 'name must be at most 200 characters'),
  agentId: z.string().max(100).optional(),
})

/** A file that goes, or went, with a message. `path` is where it lies in the workspace of the agent. */
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
 * `POST /api/chat`. Without `agentId` that of the session answers, or the caller's newest running agent; `stream` asks for
 * server-sent events. `replaces` is an earlier message of the caller's: this one takes its place, and that of all after it.
 * `attachments` are ids of `POST /api/chat/attachments`; left out beside `replaces`, the files of the earlier message stay.
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

/** The answer to a message; also the data of the `done` event of a stream. */
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

/** The data of a `delta` event of a stream. */
export const ReplyDelta = z.object({ text: z.string() })
export type ReplyDelta = z.infer<typeof ReplyDelta>

/** `GET /api/chat?agentId=&limit=&before=`: `before` is the id of the oldest message already known. */
export const MessageQuery = z.object({
  agentId: z.string().max(100).optional(),
  limit: PageLimit,
  before: z.string().max(100).optional(),
  /** A session, or `none` for what was said outside of all. */
  sessionId: z.string().max(100).optional(),
  /** A message: what it took the place of, which is not shown otherwise. */
  replacedBy: z.string().max(100).optional(),
})
export type MessageQuery = z.infer<typeof MessageQuery>

/** What the answering of a message took and did, in short; `GET /api/chat/turns/:id` tells what went into its tools. */
export const TurnSummary = z.object({
  id: z.string(),
  /** Number of times the agent took the turn up again after a crash. */
  restarts: z.number(),
  /** `TURN_INTERRUPTED` for a turn that could not be taken up again. */
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
 * One line of a conversation; `failed` marks a message that got no whole reply, and what there is of one; `stopped` what was
 * cut short on purpose.
 */
export const ChatMessage = z.object({
  id: z.string(),
  agentId: z.string(),
  sender: z.enum(['user', 'agent']),
  content: z.string(),
  topic: z.string().nullable(),
  status: z.enum(['sent', 'stopped', 'failed']),
  timestamp: z.string(),
  /** Where it was written. `author` names the person on another platform than the web, null for the agent. */
  platform: z.enum(PLATFORMS),
  author: z.string().nullable(),
  /** Not there for what was said outside of sessions. */
  sessionId: z.string().optional(),
  /** Of a message of the agent that was the answer of a turn, and of a message that got no answer. */
  turn: TurnSummary.optional(),
  /** Of a message of the user that came with files. */
  attachments: z.array(ChatAttachment).optional(),
})
export type ChatMessage = z.infer<typeof ChatMessage>

/** Oldest first. `hasMore` tells that older messages exist before the first one. */
export const MessageList = z.object({ messages: z.array(ChatMessage), count: z.number(), hasMore: z.boolean() })
export type MessageList = z.infer<typeof MessageList>

/** `running` goes on, whoever listens; `stopped` was cut short on purpose; `failed` has its reason in `error`. */
export const TurnState = z.enum(['running', 'done', 'stopped', 'failed'])

/** One use of a tool; what went in and came out is JSON or text, cut where it is long. */
export const ToolCall = z.object({
  name: z.string(),
  arguments: z.string(),
  result: z.string(),
  success: z.boolean(),
  durationMs: z.number(),
})
export type ToolCall = z.infer<typeof ToolCall>

/**
 * The answering of one message. `text` is what the agent has said so far and `position` the place behind it: an event id, for
 * going on from there. Once it has ended, `replyId` names the agent's message, if it said anything.
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
  /** Number of times the agent took the turn up again after a crash; `text` is what it said since the last. */
  restarts: z.number(),
  message: z.string(),
  text: z.string(),
  position: z.number(),
  toolCalls: z.array(ToolCall),
  /** The last of these are null while they are not known: the cost where the agent does not name its calls. */
  model: z.string().nullable(),
  inputTokens: z.number().nullable(),
  outputTokens: z.number().nullable(),
  costUsd: z.number().nullable(),
  durationMs: z.number().nullable(),
  /** The limit of one turn that ended it, while `state` is `done`: `loop`, `cost` or `steps`. */
  endedBy: z.enum(END_REASONS).nullable(),
  createdAt: z.string(),
  finishedAt: z.string().nullable(),
})
export type ChatTurn = z.infer<typeof ChatTurn>

/** `GET /api/chat/turns?agentId=`: those that are running, oldest first. */
export const TurnQuery = z.object({ agentId: z.string().max(100).optional() })
export type TurnQuery = z.infer<typeof TurnQuery>
export const TurnList = z.object({ turns: z.array(ChatTurn) })
export const OneTurn = z.object({ turn: ChatTurn })

/** `GET /api/chat/turns/:id/events?after=`: the position behind which to begin; `Last-Event-ID` goes before it. */
export const TurnEventsQuery = z.object({
  after: z.coerce
    .number('after must be a number')
    .int('after must be a whole number')
    .min(0, 'after must be at least 0')
    .default(0),
})

/** The data of a `restart` event of a stream: the agent answers anew, and what came before is void. */
export const TurnRestart = z.object({ restarts: z.number() })
export type TurnRestart = z.infer<typeof TurnRestart>

/** The data of the events `stopped` and `failed` of a stream. */
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

/** Words to look for, and a page of what is found. */
export const SearchPage = z.object({
  q: z.string('q required').trim().min(1, 'q required').max(200, 'q must be at most 200 characters'),
  limit: Limit.default(20),
  before: z.string().max(100).optional(),
})

/** `GET /api/chat/search?q=&agentId=&limit=&before=`: `before` is the id of the last message that was found. */
export const SearchQuery = SearchPage.extend({ agentId: z.string().max(100).optional() })
export type SearchQuery = z.infer<typeof SearchQuery>

/** Newest first; `snippet` is the place that was found, in pieces. */
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

/** `GET /api/chat/sessions?agentId=&limit=&before=`: `before` is the id of the last one that is known. */
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

/** `PATCH /api/chat/sessions/:id`: what is left out stays; empty instructions are none. */
export const ChangeSessionRequest = z
  .object({ title: Title.optional(), instructions: Instructions.optional() })
  .refine(({ title, instructions }) => title !== undefined || instructions !== undefined, 'title is required')
  .meta({ examples: [{ title: 'Tea' }, { instructions: 'Answer in rhymes.' }] })
export type ChangeSessionRequest = z.infer<typeof ChangeSessionRequest>

/**
 * A conversation with one agent. Its title is that of its first message unless it was given one; null before that.
 * `instructions` are told the agent in every turn of it, and in no other.
 */
export const ChatSession = z.object({
  id: z.string(),
  agentId: z.string(),
  title: z.string().nullable(),
  instructions: z.string().nullable(),
  /** A conversation on another platform than the web can be read and deleted here, and is answered there. */
  platform: z.enum(PLATFORMS),
  createdAt: z.string(),
  lastActivity: z.string(),
})
export type ChatSession = z.infer<typeof ChatSession>

/** Latest activity first. */
export const SessionList = z.object({ sessions: z.array(ChatSession), hasMore: z.boolean() })
export type SessionList = z.infer<typeof SessionList>

/** `POST /api/chat/sessions`. */
export const OneSession = z.object({ session: ChatSession })

/** A conversation outside of the web; `session` is the agent's session key. */
export const ChannelConversation = z.object({
  session: z.string(),
  channel: z.enum(PLATFORMS),
  messageCount: z.number(),
  createdAt: z.string(),
  lastActivity: z.string(),
})
export type ChannelConversation = z.infer<typeof ChannelConversation>

/** `GET /api/agents/:id/conversations`; `untold` is `openclaw` for an agent of that runtime of which none are known yet. */
export const ConversationList = z.object({
  conversations: z.array(ChannelConversation),
  untold: z.enum(['openclaw']).nullable(),
})
export type ConversationList = z.infer<typeof ConversationList>

/** `GET /api/agents/:id/conversations/:session`, oldest first. */
export const ConversationMessages = z.object({
  messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.string(), at: z.string() })),
})
export type ConversationMessages = z.infer<typeof ConversationMessages>
