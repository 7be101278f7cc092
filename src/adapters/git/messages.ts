import { z } from 'zod'

/** Initial branch of repositories created here. */
export const DEFAULT_BRANCH = 'main'

/** Response of the Git status endpoint without `ok`. `status` is the code of `git status --porcelain`. */
export const RepositoryStatus = z.object({
  isGitRepo: z.boolean(),
  branch: z.string(),
  remote: z.string().nullable(),
  changes: z.array(z.object({ status: z.string(), path: z.string() })),
  hasChanges: z.boolean(),
})
export type RepositoryStatus = z.infer<typeof RepositoryStatus>

/** Unified patches; `isComplete` is false when they were cut. */
export const RepositoryDiff = z.object({
  unstaged: z.string().nullable(),
  staged: z.string().nullable(),
  isComplete: z.boolean(),
})
export type RepositoryDiff = z.infer<typeof RepositoryDiff>

const GitCommit = z.object({ hash: z.string(), subject: z.string(), author: z.string(), time: z.coerce.date() })
export type GitCommit = z.infer<typeof GitCommit>
export const GitCommits = z.array(GitCommit)

const Bytes = z.base64().transform((text) => new Uint8Array(Buffer.from(text, 'base64')))

/** A request to a remote without its body. */
const RemoteHead = z.object({
  url: z.url({ protocol: /^https?$/ }),
  method: z.enum(['GET', 'POST']),
  headers: z.record(z.string(), z.string()),
})
/** A chunk of a body, or the request that the preceding chunks belong to. */
export const RemoteQuestion = z.union([z.object({ piece: Bytes }), z.object({ request: RemoteHead })])
/** A request with its complete body. */
export const RemoteRequest = RemoteHead.extend({ body: Bytes })
export const RemoteAnswer = z.object({
  url: z.string(),
  status: z.number(),
  headers: z.record(z.string(), z.string()),
  body: Bytes,
})
