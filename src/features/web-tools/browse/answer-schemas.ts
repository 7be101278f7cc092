import { z } from 'zod'

const File = z.object({ type: z.literal('file'), name: z.string(), path: z.string() })
/** A folder holds folders: the getter lets the schema name itself. */
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

/** `GET /api/browse/tree`. */
export const BrowseTreeAnswer = z.object({ root: Folder, isComplete: z.boolean(), ok: z.literal(true) })

/** `GET /api/browse/read`. */
export const BrowseReadAnswer = z.object({
  modified: z.string(),
  path: z.string(),
  content: z.string(),
  size: z.number(),
  hash: z.string(),
  ok: z.literal(true),
})

/** `POST /api/browse/write`. */
export const BrowseWriteAnswer = z.object({ path: z.string(), size: z.number(), hash: z.string(), ok: z.literal(true) })

/** `GET /api/browse/search`. */
export const BrowseSearchAnswer = z.object({
  matches: z.array(z.object({ path: z.string(), line: z.number().nullable(), text: z.string().nullable() })),
  isComplete: z.boolean(),
  ok: z.literal(true),
})

/** `POST /api/browse/mkdir`. */
export const BrowseMkdirAnswer = z.object({ ok: z.literal(true), path: z.string() })

/** `GET /api/browse/git-status`. */
export const BrowseGitStatusAnswer = z.object({
  isGitRepo: z.boolean(),
  branch: z.string(),
  remote: z.string().nullable(),
  changes: z.array(z.object({ status: z.string(), path: z.string() })),
  hasChanges: z.boolean(),
  ok: z.literal(true),
})

/** `GET /api/browse/git-diff`. */
export const BrowseGitDiffAnswer = z.object({
  unstaged: z.string().nullable(),
  staged: z.string().nullable(),
  isComplete: z.boolean(),
  ok: z.literal(true),
})

/** `POST /api/browse/git-sync`. */
export const BrowseGitSyncAnswer = z.object({
  committed: z.boolean(),
  pushed: z.boolean(),
  hash: z.string(),
  message: z.string(),
  ok: z.literal(true),
})

/** `GET /api/browse/git-log`. */
export const BrowseGitLogAnswer = z.object({
  ok: z.literal(true),
  commits: z.array(
    z.object({ hash: z.string(), shortHash: z.string(), subject: z.string(), author: z.string(), date: z.string() }),
  ),
})

/** `PUT /api/browse/git-credentials`. */
export const ChangedBrowseGitCredentialsAnswer = z.object({
  ok: z.literal(true),
  origin: z.string(),
  username: z.string(),
})

/** `DELETE /api/browse/git-credentials`. */
export const DeletedBrowseGitCredentialsAnswer = z.object({ ok: z.literal(true), origin: z.string() })
