import { AppError, type ErrorKind, errorMessage } from '../../core/errors.ts'
import { createEgress } from '../egress/egress.ts'
import type { FolderRoot } from '../files/open.ts'
import { gitCommit, gitDiff, gitLog, gitStatus } from './git.ts'
import { type Credentials, gitPush } from './push.ts'
import { sendToRemote } from './remote.ts'

/** What is done to a repository away from the main thread. */
const operations = {
  status: gitStatus,
  diff: gitDiff,
  log: gitLog,
  commit: gitCommit,
  push(root: FolderRoot, allowPrivate: boolean, credentials: readonly (Credentials & { origin: string })[]) {
    const egress = createEgress({ allowPrivate })
    const find = (origin: string) => credentials.find((row) => row.origin === origin) ?? null
    return gitPush(root, (request) => sendToRemote(egress, request), find)
  },
}
export type GitOperations = typeof operations
export type GitOperation = keyof GitOperations

export type GitRequest = {
  [Name in GitOperation]: { name: Name; args: Parameters<GitOperations[Name]> }
}[GitOperation]
export type GitReply<Result> =
  | { result: Result }
  | { kind: ErrorKind; message: string; extra: Readonly<Record<string, unknown>>; cause: string }

declare const self: Worker

// One request at a time; one that takes too much is ended together with this worker.
self.onmessage = async ({ data }: MessageEvent<GitRequest>) => {
  self.postMessage(await perform(data))
}

async function perform(request: GitRequest): Promise<GitReply<unknown>> {
  try {
    return { result: await call(request) }
  } catch (error) {
    const known = error instanceof AppError ? error : new AppError('internal', 'Internal error', {}, { cause: error })
    const { kind, message, extra, cause } = known
    return {
      kind,
      message,
      extra,
      cause: cause instanceof Error ? (cause.stack ?? cause.message) : errorMessage(cause),
    }
  }
}

function call(request: GitRequest): Promise<unknown> {
  switch (request.name) {
    case 'status':
      return operations.status(...request.args)
    case 'diff':
      return operations.diff(...request.args)
    case 'log':
      return operations.log(...request.args)
    case 'commit':
      return operations.commit(...request.args)
    case 'push':
      return operations.push(...request.args)
  }
}
