import { z } from 'zod'

const MAX_DEPTH = 4
const MAX_COMMITS = 100

const Path = z.string('path required').min(1, 'path required')
/** Defaults to the workspace that belongs to no agent. */
const agentId = z.string().min(1, 'agentId must not be empty').optional()

export const WorkspaceQuery = z.object({ agentId })

export const TreeQuery = z.object({
  agentId,
  depth: z.coerce
    .number('depth must be a number')
    .int('depth must be a whole number')
    .min(1, 'depth must be at least 1')
    .default(3)
    .transform((depth) => Math.min(depth, MAX_DEPTH)),
})

export const PathQuery = z.object({ agentId, path: Path })

export const DiffQuery = z.object({ agentId, path: z.string().optional() })

export const GitLogQuery = z.object({
  agentId,
  limit: z.coerce
    .number('limit must be a number')
    .int('limit must be a whole number')
    .min(1, 'limit must be at least 1')
    .default(20)
    .transform((limit) => Math.min(limit, MAX_COMMITS)),
})

export const FileSearchQuery = z.object({
  agentId,
  q: z.string('q required').min(1, 'q required').max(200, 'q too long (max 200 chars)'),
  in: z.enum(['name', 'content'], 'in must be name or content').default('name'),
})

/** Hash that the current file must have; null when the file must not exist. */
const IfMatch = z.string('ifMatch must be a hash').nullable()

export const WriteRequest = z
  .object({
    path: Path,
    content: z.string('content required'),
    ifMatch: IfMatch.optional(),
  })
  .meta({ examples: [{ path: 'notes/today.md', content: 'Buy tea' }] })

export const UploadQuery = z.object({ agentId, path: Path, ifMatch: z.string().min(1, 'ifMatch is empty').optional() })

export const PathRequest = z.object({ path: Path })

export const RenameRequest = z.object({
  from: z.string('from required').min(1, 'from required'),
  to: z.string('to required').min(1, 'to required'),
})

export const SyncRequest = z.object({
  message: z
    .string('message must be text')
    .trim()
    .min(1, 'message is empty')
    .max(10_000, 'message too long')
    .optional(),
})

export type SyncRequest = z.infer<typeof SyncRequest>

const Origin = z
  .string('origin required')
  // The URL parser takes many seconds for a name of one megabyte.
  .max(2000, { error: 'origin must be an http or https address', abort: true })
  .refine((text) => URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol), {
    error: 'origin must be an http or https address',
  })
  .transform((text) => new URL(text).origin)

export const CredentialsRequest = z.object({
  origin: Origin,
  username: z.string('username required').min(1, 'username required').max(200, 'username too long'),
  password: z.string('password required').min(1, 'password required').max(2000, 'password too long'),
})
export type CredentialsRequest = z.infer<typeof CredentialsRequest>

export const OriginQuery = z.object({ agentId, origin: Origin })

const Done = z.object({ ok: z.literal(true) })

const File = z.object({ type: z.literal('file'), name: z.string(), path: z.string() })
/** The schema is recursive; the getter defers the reference to itself. */
const Folder = z
  .object({
    type: z.literal('folder'),
    name: z.string(),
    path: z.string(),
    get children() {
      return z.array(z.union([Folder, File]))
    },
  })
  .meta({ id: 'WorkspaceFolder' })

/** Response of `GET /api/browse/tree`. */
export const FileTree = Done.extend({ root: Folder, isComplete: z.boolean() })

/** Response of `POST /api/browse/mkdir` and `/rename`: the new path. */
export const ChangedPath = Done.extend({ path: z.string() })

/** Response of `POST /api/browse/write` and `/upload`: `size` in bytes, `hash` for the next `ifMatch`. */
export const WrittenFile = ChangedPath.extend({ size: z.number(), hash: z.string() })

/** Response of `GET /api/browse/read`. */
export const FileContent = WrittenFile.extend({ modified: z.string(), content: z.string() })

/** Response of `GET /api/browse/search`; `line` and `text` are null when the file name matched. */
export const FoundFiles = Done.extend({
  matches: z.array(z.object({ path: z.string(), line: z.number().nullable(), text: z.string().nullable() })),
  isComplete: z.boolean(),
})

/** Response of `GET /api/browse/git-status`. */
export const GitStatus = Done.extend({
  isGitRepo: z.boolean(),
  branch: z.string(),
  remote: z.string().nullable(),
  changes: z.array(z.object({ status: z.string(), path: z.string() })),
  hasChanges: z.boolean(),
})

/** Response of `GET /api/browse/git-diff`. */
export const GitDiff = Done.extend({
  unstaged: z.string().nullable(),
  staged: z.string().nullable(),
  isComplete: z.boolean(),
})

/** Response of `POST /api/browse/git-sync`. */
export const GitSynced = Done.extend({
  committed: z.boolean(),
  pushed: z.boolean(),
  hash: z.string(),
  message: z.string(),
})

/** Response of `POST /api/browse/git-init`; `hash` is empty when there are no files to commit. */
export const GitStarted = Done.extend({ branch: z.string(), hash: z.string() })

/** Response of `GET /api/browse/git-log`, newest first. */
export const GitLog = Done.extend({
  commits: z.array(
    z.object({ hash: z.string(), shortHash: z.string(), subject: z.string(), author: z.string(), date: z.string() }),
  ),
})

/** Response of `DELETE /api/browse/git-credentials`. */
export const ForgottenCredentials = Done.extend({ origin: z.string() })

/** Response of `PUT /api/browse/git-credentials`; it does not contain the password. */
export const KeptCredentials = ForgottenCredentials.extend({ username: z.string() })
