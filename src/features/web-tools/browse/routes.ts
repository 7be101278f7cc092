import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { toParts } from '../../../adapters/files/open.ts'
import type { WorkspaceFiles } from '../../../adapters/workspaces/workspace.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { answers } from '../../../http/answers.ts'
import { hasJsonType, receiveBytes, receiveText } from '../../../http/bodies/body.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { toAppError } from '../../../http/errors.ts'
import { validate } from '../../../http/validate.ts'
import { type WorkspaceQuotaDeps, withinWorkspaceQuota } from '../../agents/storage/workspace-quota.ts'
import {
  BrowseGitDiffAnswer,
  BrowseGitLogAnswer,
  BrowseGitStatusAnswer,
  BrowseGitSyncAnswer,
  BrowseMkdirAnswer,
  BrowseReadAnswer,
  BrowseSearchAnswer,
  BrowseTreeAnswer,
  BrowseWriteAnswer,
  ChangedBrowseGitCredentialsAnswer,
  DeletedBrowseGitCredentialsAnswer,
} from './answer-schemas.ts'
import { deleteGitCredentials, setGitCredentials } from './git-credentials.ts'
import type { OneAtATime } from './one-at-a-time.ts'
import { openWorkspace, type Workspace, type WorkspaceDeps } from './open-workspace.ts'
import { toRelativeTime } from './relative-time.ts'
import {
  CredentialsRequest,
  DiffQuery,
  LogQuery,
  OriginQuery,
  PathQuery,
  PathRequest,
  RenameRequest,
  SearchQuery,
  SyncRequest,
  TreeQuery,
  UploadQuery,
  WorkspaceQuery,
  WriteRequest,
} from './schemas.ts'
import { syncWorkspace } from './sync.ts'

export type BrowseDeps = WorkspaceDeps & {
  clock: Clock
  sealer: Sealer
  allowPrivate: boolean
  storage: WorkspaceQuotaDeps['storage']
  plannedEndpoints: boolean
  oneAtATime: OneAtATime
}

/** What an entry of a folder takes at least. What a commit adds is not known before: it is measured after. */
const ENTRY_BYTES = 4096

/** Who is let in; behind both it is known on whose behalf. */
export type BrowseGuards = {
  guard: MiddlewareHandler<BackendEnv>
  /** Of routes that take passwords. */
  credentialsGuard: MiddlewareHandler<BackendEnv>
}

/** What files of a workspace may be refused for, and what changes of them besides. */
const READING = ['not_found', 'forbidden', 'too_large', 'unavailable'] as const
const CHANGING = [...READING, 'conflict', 'storage_full'] as const

const browseTreeAnswers = answers({ 200: BrowseTreeAnswer }, ...READING)
const browseReadAnswers = answers({ 200: BrowseReadAnswer }, ...READING)
const browseWriteAnswers = answers({ 200: BrowseWriteAnswer }, ...CHANGING)
const browseSearchAnswers = answers({ 200: BrowseSearchAnswer }, ...READING)
const browseDownloadAnswers = answers({ 200: 'application/octet-stream' }, ...READING)
const browseUploadAnswers = answers({ 201: BrowseWriteAnswer }, ...CHANGING)
const browseMkdirAnswers = answers({ 201: BrowseMkdirAnswer }, ...CHANGING)
const browseRenameAnswers = answers({ 200: BrowseMkdirAnswer }, ...CHANGING)
const browseGitStatusAnswers = answers({ 200: BrowseGitStatusAnswer }, ...READING)
const browseGitDiffAnswers = answers({ 200: BrowseGitDiffAnswer }, ...READING, 'internal')
const browseGitSyncAnswers = answers({ 200: BrowseGitSyncAnswer }, ...READING, 'internal')
const browseGitLogAnswers = answers({ 200: BrowseGitLogAnswer }, ...READING, 'internal')
const changedBrowseGitCredentialsAnswers = answers({ 200: ChangedBrowseGitCredentialsAnswer }, ...READING)
const deletedBrowseGitCredentialsAnswers = answers({ 200: DeletedBrowseGitCredentialsAnswer }, ...READING)

/** The file explorer (Interface 4.12, planned) and what the dashboard adds to it, the same on both faces. */
export function browseRoutes(deps: BrowseDeps, { guard, credentialsGuard }: BrowseGuards) {
  const app = new Hono<BackendEnv>()
  if (!deps.plannedEndpoints) return app
  // The outermost handler answers and logs; here every answer says whether it is fine.
  app.onError((error) => {
    const { kind, message, extra } = toAppError(error)
    throw new AppError(kind, message, { ok: false, ...extra }, { cause: error })
  })

  app.route('/', fileRoutes(deps, guard))
  app.route('/', gitRoutes(deps, guard))
  app.route('/', credentialRoutes(deps, credentialsGuard))
  return app
}

/** What every route does with the workspace that it is asked for. */
function createDesk(deps: BrowseDeps) {
  return {
    /** A change that adds up to so many bytes, in its turn. */
    change: <T>(workspace: Workspace, addedBytes: number, task: () => Promise<T>) =>
      deps.oneAtATime(workspace, () => withinWorkspaceQuota(deps, workspace, addedBytes, task)),
    workspaceOf: (c: Context<BackendEnv>, agentId: string | undefined) => openWorkspace(deps, c.var.principal, agentId),
  }
}

function fileRoutes(deps: BrowseDeps, guard: BrowseGuards['guard']) {
  const app = new Hono<BackendEnv>()
  const { change, workspaceOf } = createDesk(deps)

  app.get('/api/browse/tree', browseTreeAnswers, guard, validate('query', TreeQuery), async (c) => {
    const { agentId, depth } = c.req.valid('query')
    return c.json({ ok: true, ...(await workspaceOf(c, agentId).use((files) => files.tree(depth))) })
  })

  app.get('/api/browse/read', browseReadAnswers, guard, validate('query', PathQuery), async (c) => {
    const { agentId, path } = c.req.valid('query')
    const reading = workspaceOf(c, agentId).use((files) => files.read(path))
    const file = await reading.catch(refuseMissing)
    return c.json({ ok: true, ...file, modified: file.modified.toISOString() })
  })

  app.post(
    '/api/browse/write',
    browseWriteAnswers,
    guard,
    validate('query', WorkspaceQuery),
    validate('json', WriteRequest),
    async (c) => {
      const { path, content, ifMatch } = c.req.valid('json')
      const workspace = workspaceOf(c, c.req.valid('query').agentId)
      const bytes = Buffer.from(content)
      const write = () => workspace.use((files) => files.write(path, bytes, ifMatch))
      return c.json({ ok: true, ...(await change(workspace, toStoredBytes(bytes), write)) })
    },
  )

  app.get('/api/browse/search', browseSearchAnswers, guard, validate('query', SearchQuery), async (c) => {
    const { agentId, q, in: where } = c.req.valid('query')
    const search = (files: WorkspaceFiles) => (where === 'name' ? files.searchNames(q) : files.searchContent(q))
    return c.json({ ok: true, ...(await workspaceOf(c, agentId).use(search)) })
  })

  app.get('/api/browse/download', browseDownloadAnswers, guard, validate('query', PathQuery), async (c) => {
    const { agentId, path } = c.req.valid('query')
    const file = await workspaceOf(c, agentId).use((files) => files.download(path))
    c.header('content-type', 'application/octet-stream')
    c.header('content-length', String(file.size))
    c.header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`)
    return c.body(file.body)
  })

  app.route('/', changeRoutes(deps, guard))
  return app
}

/** Files and folders that come, move and go. */
function changeRoutes(deps: BrowseDeps, guard: BrowseGuards['guard']) {
  const app = new Hono<BackendEnv>()
  const { change, workspaceOf } = createDesk(deps)

  app.post('/api/browse/upload', browseUploadAnswers, guard, validate('query', UploadQuery), async (c) => {
    const { agentId, path, ifMatch } = c.req.valid('query')
    const workspace = workspaceOf(c, agentId)
    const bytes = await receiveBytes(c)
    const write = () => workspace.use((files) => files.write(path, bytes, ifMatch))
    return c.json({ ok: true, ...(await change(workspace, toStoredBytes(bytes), write)) }, 201)
  })

  app.post(
    '/api/browse/mkdir',
    browseMkdirAnswers,
    guard,
    validate('query', WorkspaceQuery),
    validate('json', PathRequest),
    async (c) => {
      const { path } = c.req.valid('json')
      const workspace = workspaceOf(c, c.req.valid('query').agentId)
      await change(workspace, ENTRY_BYTES, () => workspace.use((files) => files.makeFolder(path)))
      return c.json({ ok: true, path }, 201)
    },
  )

  app.post(
    '/api/browse/rename',
    browseRenameAnswers,
    guard,
    validate('query', WorkspaceQuery),
    validate('json', RenameRequest),
    async (c) => {
      const { from, to } = c.req.valid('json')
      const workspace = workspaceOf(c, c.req.valid('query').agentId)
      await deps.oneAtATime(workspace, () => workspace.use((files) => files.rename(from, to)))
      return c.json({ ok: true, path: to })
    },
  )

  app.delete('/api/browse/delete', browseRenameAnswers, guard, validate('query', PathQuery), async (c) => {
    const { agentId, path } = c.req.valid('query')
    const workspace = workspaceOf(c, agentId)
    await change(workspace, 0, () => workspace.use((files) => files.delete(path)))
    return c.json({ ok: true, path })
  })

  return app
}

function gitRoutes(deps: BrowseDeps, guard: BrowseGuards['guard']) {
  const app = new Hono<BackendEnv>()
  const { change, workspaceOf } = createDesk(deps)

  app.get('/api/browse/git-status', browseGitStatusAnswers, guard, validate('query', WorkspaceQuery), async (c) => {
    const workspace = workspaceOf(c, c.req.valid('query').agentId)
    const look = () => workspace.use((files) => files.status())
    return c.json({ ok: true, ...(await deps.oneAtATime(workspace, look)) })
  })

  app.get('/api/browse/git-diff', browseGitDiffAnswers, guard, validate('query', DiffQuery), async (c) => {
    const { agentId, path } = c.req.valid('query')
    const workspace = workspaceOf(c, agentId)
    const below = path === undefined ? null : toParts(path).join('/')
    const look = () => workspace.use((files) => files.diff(below))
    return c.json({ ok: true, ...(await deps.oneAtATime(workspace, look)) })
  })

  app.post('/api/browse/git-sync', browseGitSyncAnswers, guard, validate('query', WorkspaceQuery), async (c) => {
    const { message } = await readSyncRequest(c)
    const workspace = workspaceOf(c, c.req.valid('query').agentId)
    const sync = () => syncWorkspace(deps, workspace, c.var.principal, message)
    return c.json({ ok: true, ...(await change(workspace, ENTRY_BYTES, sync)) })
  })

  app.get('/api/browse/git-log', browseGitLogAnswers, guard, validate('query', LogQuery), async (c) => {
    const { agentId, limit } = c.req.valid('query')
    const workspace = workspaceOf(c, agentId)
    const commits = await deps.oneAtATime(workspace, () => workspace.use((files) => files.log(limit)))
    const now = deps.clock.now()
    return c.json({
      ok: true,
      commits: commits.map(({ hash, subject, author, time }) => ({
        hash,
        shortHash: hash.slice(0, 7),
        subject,
        author,
        date: toRelativeTime(time, now),
      })),
    })
  })

  return app
}

function credentialRoutes(deps: BrowseDeps, credentialsGuard: BrowseGuards['credentialsGuard']) {
  const app = new Hono<BackendEnv>()
  const { workspaceOf } = createDesk(deps)

  app.put(
    '/api/browse/git-credentials',
    changedBrowseGitCredentialsAnswers,
    credentialsGuard,
    validate('query', WorkspaceQuery),
    validate('json', CredentialsRequest),
    async (c) => {
      const credentials = c.req.valid('json')
      await setGitCredentials(deps, workspaceOf(c, c.req.valid('query').agentId), credentials)
      return c.json({ ok: true, origin: credentials.origin, username: credentials.username })
    },
  )

  app.delete(
    '/api/browse/git-credentials',
    deletedBrowseGitCredentialsAnswers,
    credentialsGuard,
    validate('query', OriginQuery),
    async (c) => {
      const { agentId, origin } = c.req.valid('query')
      await deleteGitCredentials(deps.db, workspaceOf(c, agentId), origin)
      return c.json({ ok: true, origin })
    },
  )

  return app
}

function toStoredBytes(bytes: Uint8Array): number {
  return bytes.length + ENTRY_BYTES
}

/** The body may be left out. @throws AppError `invalid`. */
async function readSyncRequest(c: Context): Promise<SyncRequest> {
  const text = await receiveText(c)
  if (text === '') return {}
  if (!hasJsonType(c)) throw new AppError('invalid', 'Content-Type must be application/json')
  const { success, data, error } = SyncRequest.safeParse(parseJson(text))
  if (!success) throw new AppError('invalid', error.issues[0]?.message ?? 'Invalid request')
  return data
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AppError('invalid', 'Malformed JSON in request body', {}, { cause: error })
  }
}

/** Interface 4.12 knows 400 alone for what is no regular file, and what is not there is none. */
function refuseMissing(error: unknown): never {
  if (error instanceof AppError && error.kind === 'not_found') {
    throw new AppError('invalid', `Not a regular file: ${error.message}`, {}, { cause: error })
  }
  throw error
}
