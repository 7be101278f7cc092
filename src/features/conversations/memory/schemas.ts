import { z } from 'zod'
import { ChatMessage, SearchPage } from '../chat/schemas.ts'

export const MAX_KEY_CHARACTERS = 200
/** More facts than a local memory file ever has. */
const MAX_IMPORTED = 200

const AgentId = z
  .string('agentId required')
  .min(1, 'agentId required')
  .max(100, 'agentId must be at most 100 characters')
const Key = z
  .string('key must be text')
  .min(1, 'key must not be empty')
  .max(MAX_KEY_CHARACTERS, `key must be at most ${MAX_KEY_CHARACTERS} characters`)
const NamedKey = z
  .string('key required')
  .min(1, 'key required')
  .max(MAX_KEY_CHARACTERS, `key must be at most ${MAX_KEY_CHARACTERS} characters`)

/** Body of `POST /api/memory`: one value with its `key`, or an object of values without a key. */
export const SaveMemoryRequest = z
  .object({
    agentId: AgentId,
    key: Key.optional(),
    memory: z.unknown().optional(),
  })
  .meta({
    examples: [
      { agentId: 'ada', key: 'favourite-tea', memory: 'Green, no sugar' },
      { agentId: 'ada', memory: { city: 'Berlin', language: 'German' } },
    ],
  })
export type SaveMemoryRequest = z.infer<typeof SaveMemoryRequest>

/**
 * Query of `GET /api/memory`: all agents without `agentId` or with `all`; `before` is the `next` of the previous page.
 */
export const MemoryQuery = SearchPage.partial({ q: true }).extend({
  agentId: z
    .string()
    .max(100)
    .optional()
    .transform((id) => (id === 'all' || id === '' ? undefined : id)),
})

export const MAX_INSTRUCTION_CHARACTERS = 20_000
const MAX_FILES = 200

/** Body of `PUT /api/agents/:id/instructions`; an empty text removes them. */
export const InstructionsRequest = z.object({
  text: z
    .string('text must be text')
    .max(MAX_INSTRUCTION_CHARACTERS, `text must be at most ${MAX_INSTRUCTION_CHARACTERS} characters`),
})

/** Answer of `GET /api/agents/:id/instructions`: null without any. */
export const Instructions = z.object({ text: z.string().nullable() })

/** Body of `POST /api/memory/import`: files of an OpenClaw workspace by path. */
export const WorkspaceImport = z
  .object({
    agentId: AgentId,
    files: z
      .array(
        z.object({
          path: z
            .string('path must be text')
            .min(1, 'path required')
            .max(MAX_KEY_CHARACTERS, `path must be at most ${MAX_KEY_CHARACTERS} characters`),
          text: z.string('text must be text'),
        }),
        'files required',
      )
      .min(1, 'files required')
      .max(MAX_FILES, `files must be at most ${MAX_FILES}`),
  })
  .meta({ examples: [{ agentId: 'ada', files: [{ path: 'MEMORY.md', text: '- likes green tea' }] }] })
export type WorkspaceImport = z.infer<typeof WorkspaceImport>

/** Outcome of each file: now a fact or part of the instructions, known before, or skipped with a reason. */
export const WorkspaceImported = z.object({
  agentId: z.string(),
  facts: z.array(z.string()),
  instructions: z.array(z.string()),
  known: z.array(z.string()),
  skipped: z.array(z.object({ path: z.string(), reason: z.string() })),
})
export type WorkspaceImported = z.infer<typeof WorkspaceImported>

/** Query of `DELETE /api/memory`. */
export const ForgetQuery = z.object({ agentId: AgentId, key: NamedKey })

/** Last author, session or page of a fact, if known, and its creation time. */
const Origin = z.object({
  source: z.enum(['user', 'agent']),
  session: z.string().nullable(),
  page: z.string().nullable(),
  createdAt: z.string().nullable(),
  updatedAt: z.string(),
})
export type Origin = z.infer<typeof Origin>

/**
 * Facts of agents; `agentId` is null for all agents, where the newest of equal keys is shown. `unread` are agents whose
 * note files cannot be read now. For one agent `sources` has the origin of each fact; notes have none.
 */
export const Memory = z.object({
  memory: z.record(z.string(), z.unknown()),
  agentId: z.string().nullable(),
  count: z.number(),
  lastUpdated: z.string().nullable(),
  unread: z.array(z.string()).optional(),
  sources: z.record(z.string(), Origin).optional(),
})
export type Memory = z.infer<typeof Memory>

/** Body of `POST /v1/memory`: a fact under a name that the agent chooses. */
export const RememberRequest = z.object({
  key: NamedKey,
  memory: z.string('memory must be text'),
  session: z.string().max(256, 'session must be at most 256 characters').optional(),
  page: z
    .string('page must be an address')
    .max(2000, { error: 'page must be at most 2000 characters', abort: true })
    .url('page must be an address')
    .optional(),
})
export type RememberRequest = z.infer<typeof RememberRequest>

/** Body of `POST /v1/memory/import`: facts of a local memory file; `at` is ISO 8601. */
export const ImportRequest = z.object({
  facts: z
    .array(z.object({ key: NamedKey, text: z.string('text must be text'), at: z.iso.datetime().optional() }))
    .max(MAX_IMPORTED, `facts must be at most ${MAX_IMPORTED}`),
})
export type ImportRequest = z.infer<typeof ImportRequest>

const Snippet = z.array(z.object({ text: z.string(), isFound: z.boolean() }))

/** A fact or a message; `snippet` is the passage found, in parts. */
const FoundMemory = z.discriminatedUnion('kind', [
  Origin.extend({
    kind: z.literal('fact'),
    agentId: z.string(),
    key: z.string(),
    cursor: z.string(),
    snippet: Snippet,
  }),
  z.object({ kind: z.literal('message'), message: ChatMessage, snippet: Snippet }),
])
export type FoundMemory = z.infer<typeof FoundMemory>

/**
 * Answer of `GET /api/memory?q=`: facts and then messages, each newest first. `next` starts the next page, null at the
 * end.
 */
export const MemoryFound = z.object({
  results: z.array(FoundMemory),
  hasMore: z.boolean(),
  next: z.string().nullable(),
})
export type MemoryFound = z.infer<typeof MemoryFound>

/** Query of `GET /v1/memory/search`: `session` is the conversation of the request. */
export const OwnSearchQuery = SearchPage.extend({ session: z.string().max(256).optional() })
export type OwnSearchQuery = z.infer<typeof OwnSearchQuery>

/** Query of `GET /v1/memory`: one whole value, or the beginning of all without a key. */
export const RecallQuery = z.object({ key: NamedKey.optional() })

/** Query of `DELETE /v1/memory`: one key, or `all=true`. */
export const ForgetOwnQuery = z
  .object({ key: NamedKey.optional(), all: z.literal('true', 'all must be true').optional() })
  .refine(({ key, all }) => (key === undefined) !== (all === undefined), 'key or all=true required')

/** Facts for the agent, newest last. `text` is the beginning of a value that is not whole. */
export const AgentMemory = z.object({
  facts: z.array(
    z.object({
      key: z.string(),
      text: z.string(),
      isWhole: z.boolean(),
      ...Origin.shape,
    }),
  ),
})
export type AgentMemory = z.infer<typeof AgentMemory>

/** Answer of `GET /v1/memory`. */
export const Recalled = z.union([AgentMemory, z.object({ key: z.string(), text: z.string() })])

/** Answer of `POST /v1/memory`: `saved` is a time. */
export const FactSaved = z.object({ key: z.string(), saved: z.string() })

/** Answer of `POST /v1/memory/import`: the number of new facts. */
export const FactsImported = z.object({ imported: z.number() })

/** Answer of `DELETE /v1/memory`: `key` is null when everything was deleted. */
export const FactsForgotten = z.object({ key: z.string().nullable(), deleted: z.literal(true) })

const OfAgent = z.object({ success: z.literal(true), agentId: z.string() })
/** Answer of `POST /api/memory`: `saved` is a time. */
export const MemorySaved = z.union([
  OfAgent.extend({ saved: z.string(), keysUpdated: z.number() }),
  OfAgent.extend({ saved: z.string(), key: z.string() }),
])

/** Answer of `DELETE /api/memory`. */
export const MemoryForgotten = OfAgent.extend({ key: z.string(), deleted: z.literal(true) })
