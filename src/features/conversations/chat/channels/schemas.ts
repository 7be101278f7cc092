import { z } from 'zod'
import { END_REASONS, MAX_GENERATIONS } from '../../../../core/agents/collect-turn.ts'
import { MESSENGERS } from '../../../../core/agents/platforms.ts'
import { ToolCall } from '../schemas.ts'

/** Longest reply of an agent; most messages in one report. */
const MAX_TEXT_CHARACTERS = 400_000
const MAX_REPORTED = 100
const MAX_TOOL_CALLS = 500

const ExternalId = z.string('id must be text').min(1, 'id required').max(200, 'id must be at most 200 characters')
const Text = z
  .string('text must be text')
  .max(MAX_TEXT_CHARACTERS, `text must be at most ${MAX_TEXT_CHARACTERS} characters`)
const Name = z.string().max(200)
const Status = z.enum(['sent', 'stopped', 'failed'])
const At = z.iso.datetime({ offset: true, message: 'at must be a time in ISO 8601' })

/** A message on a messenger. `session` is the agent's session key, `title` the person or group. */
const ReportedLine = z.object({
  type: z.literal('message'),
  id: ExternalId,
  platform: z.enum(MESSENGERS),
  session: z.string().min(1).max(256),
  title: Name.nullable(),
  sender: z.enum(['user', 'agent']),
  author: Name.nullable(),
  text: Text,
  status: Status,
  at: At,
})

/** A tool call and the number of characters before it. */
const PlacedToolCall = ToolCall.extend({ offset: z.number().int().min(0) })

/** The outcome of the turn that answered the message `question`; an empty `text` creates no message. */
const ReportedAnswer = z.object({
  type: z.literal('answer'),
  question: ExternalId,
  text: Text,
  status: Status,
  error: z.object({ kind: z.string().max(50), message: z.string().max(1000) }).nullable(),
  model: Name.nullable(),
  inputTokens: z.number().int().min(0).nullable(),
  outputTokens: z.number().int().min(0).nullable(),
  generationIds: z.array(z.string().max(200)).max(MAX_GENERATIONS),
  endedBy: z.enum(END_REASONS).nullable(),
  restarts: z.number().int().min(0).max(100),
  toolCalls: z.array(PlacedToolCall).max(MAX_TOOL_CALLS),
  at: At,
})

/** Body of `POST /v1/channel-messages`: channel entries in order. */
export const ChannelReport = z
  .object({
    entries: z
      .array(z.discriminatedUnion('type', [ReportedLine, ReportedAnswer]), 'entries required')
      .min(1, 'entries required')
      .max(MAX_REPORTED, `entries must be at most ${MAX_REPORTED}`),
  })
  .meta({
    examples: [
      {
        entries: [
          {
            type: 'message',
            id: 'telegram-7-12',
            platform: 'telegram',
            session: 'telegram:7',
            title: 'Ada',
            sender: 'user',
            author: 'Ada',
            text: 'Hello',
            status: 'sent',
            at: '2026-11-20T10:00:00.000Z',
          },
        ],
      },
    ],
  })
export type ChannelReport = z.infer<typeof ChannelReport>

/** The number of stored entries, including those stored before. */
export const ChannelReported = z.object({ stored: z.number() })
