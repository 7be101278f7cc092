import { Hono } from 'hono'
import type { WorkspaceFiles } from '../../../adapters/workspaces/workspace.ts'
import { AppError } from '../../../core/errors.ts'
import { answers } from '../../../http/answers.ts'
import { receiveBytes } from '../../../http/bodies/body.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import { validate } from '../../../http/validate.ts'
import { type BrowseDeps, type BrowseGuard, createDesk, ENTRY_BYTES, READING } from './desk.ts'
import {
  ChangedPath,
  FileContent,
  FileTree,
  FoundFiles,
  PathQuery,
  PathRequest,
  RenameRequest,
  SearchQuery,
  TreeQuery,
  UploadQuery,
  WorkspaceQuery,
  WriteRequest,
  WrittenFile,
} from './schemas.ts'

/** What a change of files may be refused for. */
const CHANGING = [...READING, 'conflict', 'storage_full'] as const

const treeAnswers = answers({ 200: FileTree }, ...READING)
const readAnswers = answers({ 200: FileContent }, ...READING)
const writeAnswers = answers({ 200: WrittenFile }, ...CHANGING)
const searchAnswers = answers({ 200: FoundFiles }, ...READING)
const downloadAnswers = answers({ 200: 'application/octet-stream' }, ...READING)
const uploadAnswers = answers({ 201: WrittenFile }, ...CHANGING)
const uploadTraits = routeTraits({ bodyType: 'application/octet-stream' })
const makeFolderAnswers = answers({ 201: ChangedPath }, ...CHANGING)
const renameAnswers = answers({ 200: ChangedPath }, ...CHANGING)

/** Files and folders of a workspace (Interface 4.12). */
export function fileRoutes(deps: BrowseDeps, guard: BrowseGuard) {
  const app = new Hono<BackendEnv>()
  const { change, workspaceOf } = createDesk(deps)

  app.get('/api/browse/tree', treeAnswers, guard, validate('query', TreeQuery), async (c) => {
    const { agentId, depth } = c.req.valid('query')
    return c.json({ ok: true, ...(await workspaceOf(c, agentId).use((files) => files.tree(depth))) })
  })

  app.get('/api/browse/read', readAnswers, guard, validate('query', PathQuery), async (c) => {
    const { agentId, path } = c.req.valid('query')
    const reading = workspaceOf(c, agentId).use((files) => files.read(path))
    const file = await reading.catch(refuseMissing)
    return c.json({ ok: true, ...file, modified: file.modified.toISOString() })
  })

  app.post(
    '/api/browse/write',
    writeAnswers,
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

  app.get('/api/browse/search', searchAnswers, guard, validate('query', SearchQuery), async (c) => {
    const { agentId, q, in: where } = c.req.valid('query')
    const search = (files: WorkspaceFiles) => (where === 'name' ? files.searchNames(q) : files.searchContent(q))
    return c.json({ ok: true, ...(await workspaceOf(c, agentId).use(search)) })
  })

  app.get('/api/browse/download', downloadAnswers, guard, validate('query', PathQuery), async (c) => {
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
function changeRoutes(deps: BrowseDeps, guard: BrowseGuard) {
  const app = new Hono<BackendEnv>()
  const { change, workspaceOf } = createDesk(deps)

  app.post('/api/browse/upload', uploadAnswers, uploadTraits, guard, validate('query', UploadQuery), async (c) => {
    const { agentId, path, ifMatch } = c.req.valid('query')
    const workspace = workspaceOf(c, agentId)
    const bytes = await receiveBytes(c)
    const write = () => workspace.use((files) => files.write(path, bytes, ifMatch))
    return c.json({ ok: true, ...(await change(workspace, toStoredBytes(bytes), write)) }, 201)
  })

  app.post(
    '/api/browse/mkdir',
    makeFolderAnswers,
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
    renameAnswers,
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

  app.delete('/api/browse/delete', renameAnswers, guard, validate('query', PathQuery), async (c) => {
    const { agentId, path } = c.req.valid('query')
    const workspace = workspaceOf(c, agentId)
    await change(workspace, 0, () => workspace.use((files) => files.delete(path)))
    return c.json({ ok: true, path })
  })

  return app
}

function toStoredBytes(bytes: Uint8Array): number {
  return bytes.length + ENTRY_BYTES
}

/** Interface 4.12 knows 400 alone for what is no regular file, and what is not there is none. */
function refuseMissing(error: unknown): never {
  if (error instanceof AppError && error.kind === 'not_found') {
    throw new AppError('invalid', `Not a regular file: ${error.message}`, {}, { cause: error })
  }
  throw error
}
