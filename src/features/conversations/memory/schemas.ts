import { z } from 'zod'
import { ChatMessage, SearchPage } from '../chat/schemas.ts'

export const MAX_KEY_CHARACTERS = 200
/** More than an agent ever kept in a file of its own. */
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

/** `POST /api/memory`: one value with its `key`, or without a key an object of values. */
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

/** `GET /api/memory?agentId=&q=&limit=&before=`: all agents without one, or with `all`; `before` is `next` of the page before. */
export const MemoryQuery = SearchPage.partial({ q: true }).extend({
  agentId: z
    .string()
    .max(100)
    .optional()
    .transform((id) => (id === 'all' || id === '' ? undefined : id)),
})

export const MAX_INSTRUCTION_CHARACTERS = 20_000
const MAX_FILES = 200

/** `PUT /api/agents/:id/instructions`: what is wanted of an agent in every session; an empty text is none. */
export const InstructionsRequest = z.object({
  text: z
    .string('text must be text')
    .max(MAX_INSTRUCTION_CHARACTERS, `text must be at most ${MAX_INSTRUCTION_CHARACTERS} characters`),
})

/** `GET /api/agents/:id/instructions`: null without any. */
export const Instructions = z.object({ text: z.string().nullable() })

/** `POST /api/memory/import`: files of an OpenClaw workspace, by their paths in it. */
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

/** What became of each file: now a fact or part of the instructions, there before, or left out and why. */
export const WorkspaceImported = z.object({
  agentId: z.string(),
  facts: z.array(z.string()),
  instructions: z.array(z.string()),
  known: z.array(z.string()),
  skipped: z.array(z.object({ path: z.string(), reason: z.string() })),
})
export type WorkspaceImported = z.infer<typeof WorkspaceImported>

/** `DELETE /api/memory?agentId=&key=`. */
export const ForgetQuery = z.object({ agentId: AgentId, key: NamedKey })

/** Who said it last, in which conversation or on which page, where that is known; and since when something is known of it. */
const Origin = z.object({
  source: z.enum(['user', 'agent']),
  session: z.string().nullable(),
  page: z.string().nullable(),
  createdAt: z.string().nullable(),
  updatedAt: z.string(),
})
export type Origin = z.infer<typeof Origin>

/**
 * What agents remember; `agentId` is null for all of them together, where the newest of equal keys is shown. `unread` are
 * agents that keep notes of their own and cannot be asked for them now. Of one agent `sources` tells where each comes from;
 * notes have none.
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

/** `POST /v1/memory`: what an agent wants to remember, under a name that it chooses. */
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

/** `POST /v1/memory/import`: what an agent has kept in a file until now; `at` is when, in ISO 8601. */
export const ImportRequest = z.object({
  facts: z
    .array(z.object({ key: NamedKey, text: z.string('text must be text'), at: z.iso.datetime().optional() }))
    .max(MAX_IMPORTED, `facts must be at most ${MAX_IMPORTED}`),
})
export type ImportRequest = z.infer<typeof ImportRequest>

const Snippet = z.array(z.object({ text: z.string(), isFound: z.boolean() }))

/** A fact, or something that was said; `snippet` is the place that was found, in pieces. */
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

/** `GET /api/memory?q=`: facts and then messages, each newest first. `next` begins the next page, null at the end. */
export const MemoryFound = z.object({
  results: z.array(FoundMemory),
  hasMore: z.boolean(),
  next: z.string().nullable(),
})
export type MemoryFound = z.infer<typeof MemoryFound>

/** `GET /v1/memory/search?q=&session=&limit=&before=`: `session` is the conversation in which it is asked. */
export const OwnSearchQuery = SearchPage.extend({ session: z.string().max(256).optional() })
export type OwnSearchQuery = z.infer<typeof OwnSearchQuery>

/** `GET /v1/memory?key=`: one value as a whole; without a key the beginning of all. */
export const RecallQuery = z.object({ key: NamedKey.optional() })

/** `DELETE /v1/memory?key=`, or `?all=true` for everything. */
export const ForgetOwnQuery = z
  .object({ key: NamedKey.optional(), all: z.literal('true', 'all must be true').optional() })
  .refine(({ key, all }) => (key === undefined) !== (all === undefined), 'key or all=true required')

/** What an agent is shown of its memory, the newest last. `text` is the beginning of a value that is not whole. */
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

/** `GET /v1/memory`: without a key the beginning of all. */
export const Recalled = z.union([AgentMemory, z.object({ key: z.string(), text: z.string() })])

/** `POST /v1/memory`: `saved` is when. */
export const FactSaved = z.object({ key: z.string(), saved: z.string() })

/** `POST /v1/memory/import`: how many were new. */
export const FactsImported = z.object({ imported: z.number() })

/** `DELETE /v1/memory`: `key` is null when everything was forgotten. */
export const FactsForgotten = z.object({ key: z.string().nullable(), deleted: z.literal(true) })

const OfAgent = z.object({ success: z.literal(true), agentId: z.string() })
/** `POST /api/memory`: `saved` is when. */
export const MemorySaved = z.union([
  OfAgent.extend({ saved: z.string(), keysUpdated: z.number() }),
  OfAgent.extend({ saved: z.string(), key: z.string() }),
])

/** `DELETE /api/memory`. */
export const MemoryForgotten = OfAgent.extend({ key: z.string(), deleted: z.literal(true) })
