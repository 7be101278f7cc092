import { resolve } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import type { FolderRoot } from '../files/open.ts'
import { createParserPool } from '../parsers/pool.ts'
import { ParserLimitError } from '../parsers/process.ts'
import type { GitAuthor } from './git.ts'
import { type GitCommit, GitCommits, RemoteQuestion, RepositoryDiff, RepositoryStatus } from './messages.ts'
import type { PushFailure } from './push.ts'
import type { SendToRemote } from './remote.ts'

/**
 * Runs Git operations in child processes because repositories are untrusted. Each method throws like the function of
 * the same name in `git.ts`, and AppError `internal` beyond the limits.
 */
export type GitRunner = {
  status(root: FolderRoot): Promise<RepositoryStatus>
  diff(root: FolderRoot, path: string | null): Promise<RepositoryDiff>
  log(root: FolderRoot, limit: number): Promise<GitCommit[]>
  commit(root: FolderRoot, message: string, author: GitAuthor): Promise<string | null>
  init(root: FolderRoot, message: string, author: GitAuthor): Promise<string | null>
  /** `send` forwards requests to the remote and adds credentials. */
  push(root: FolderRoot, send: SendToRemote): Promise<PushFailure>
  /** Returns the process ids of running parsers. */
  pids(): number[]
  close(): void
}

const MAX_PROCESSES = 3
const MAX_WAITING = 100
const READ_MS = 20_000
const COMMIT_MS = 60_000
const PUSH_MS = 120_000
const IDLE_MS = 30_000
const MEGABYTE = 1024 * 1024
const MAX_MEMORY_BYTES = 768 * MEGABYTE
const MAX_OUTPUT_BYTES = 32 * MEGABYTE
const MAX_PACK_BYTES = 128 * MEGABYTE
/** Packs leave the process as base64. */
const MAX_PUSH_OUTPUT_BYTES = 2 * MAX_PACK_BYTES

/** Starts processes on demand and kills one whose operation exceeds its limits. */
export function createGitRunner({
  maxMemoryBytes = MAX_MEMORY_BYTES,
  idleMs = IDLE_MS,
  readMs = READ_MS,
} = {}): GitRunner {
  const pool = createParserPool('git', {
    maxProcesses: MAX_PROCESSES,
    maxWaiting: MAX_WAITING,
    maxMemoryBytes,
    idleMs,
  })
  const run = async <T>(
    name: string,
    result: z.ZodType<T>,
    { base, below }: FolderRoot,
    args: unknown[],
    maxMs: number,
    send?: SendToRemote,
  ): Promise<T> => {
    try {
      return await pool.run({
        name,
        args: [{ base: resolve(base), below }, ...args],
        result,
        maxMs,
        maxOutputBytes: send ? MAX_PUSH_OUTPUT_BYTES : MAX_OUTPUT_BYTES,
        ...(send && { answer: createAnswers(send) }),
      })
    } catch (cause) {
      if (!(cause instanceof ParserLimitError)) throw cause
      throw new AppError('internal', 'The repository takes too much to read', {}, { cause })
    }
  }
  return {
    status: (root) => run('status', RepositoryStatus, root, [], readMs),
    diff: (root, path) => run('diff', RepositoryDiff, root, [path], readMs),
    log: (root, limit) => run('log', GitCommits, root, [limit], readMs),
    commit: (root, message, author) => run('commit', z.string().nullable(), root, [message, author], COMMIT_MS),
    init: (root, message, author) => run('init', z.string().nullable(), root, [message, author], COMMIT_MS),
    push: (root, send) => run('push', z.string().nullable(), root, [], PUSH_MS, send),
    pids: pool.pids,
    close: pool.close,
  }
}

/** Joins the chunks of a body and sends it with the request that follows. */
function createAnswers(send: SendToRemote): (question: unknown) => Promise<unknown> {
  let pieces: Uint8Array[] = []
  let bytes = 0
  return async (question) => {
    const asked = RemoteQuestion.parse(question)
    if ('piece' in asked) {
      bytes += asked.piece.length
      if (bytes > MAX_PACK_BYTES) throw new AppError('too_large', 'The commits are too large')
      pieces.push(asked.piece)
      return null
    }
    const body = Buffer.concat(pieces)
    pieces = []
    bytes = 0
    const answer = await send({ ...asked.request, body })
    return { ...answer, body: Buffer.from(answer.body).toString('base64') }
  }
}
