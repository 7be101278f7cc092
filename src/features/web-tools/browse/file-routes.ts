import { Hono } from 'hono'
import type { WorkspaceFiles } from '../../../adapters/workspaces/workspace.ts'
import { AppError } from '../../../core/errors.ts'
import { receiveBytes } from '../../../http/bodies/body.ts'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import {
  ChangedPath,
  FileContent,
  FileSearchQuery,
  FileTree,
  FoundFiles,
  PathQuery,
  PathRequest,
  RenameRequest,
  TreeQuery,
  UploadQuery,
  WorkspaceQuery,
  WriteRequest,
  WrittenFile,
} from './schemas.ts'
import { type BrowseDeps, type BrowseGuard, createDesk, ENTRY_BYTES, READING } from './workspace.ts'

/** Error kinds of routes that change files. */
const CHANGING = [...READING, 'conflict', 'storage_full'] as const

const treeAnswers: Responses = { responses: { 200: FileTree }, errors: [...READING] }
const readAnswers: Responses = { responses: { 200: FileContent }, errors: [...READING] }
const writeAnswers: Responses = { responses: { 200: WrittenFile }, errors: [...CHANGING] }
const searchAnswers: Responses = { responses: { 200: FoundFiles }, errors: [...READING] }
const downloadAnswers: Responses = { responses: { 200: 'application/octet-stream' }, errors: [...READING] }
const uploadAnswers: Responses = { responses: { 201: WrittenFile }, errors: [...CHANGING] }
const uploadTraits: RouteOptions = { bodyType: 'application/octet-stream' }
const makeFolderAnswers: Responses = { responses: { 201: ChangedPath }, errors: [...CHANGING] }
const renameAnswers: Responses = { responses: { 200: ChangedPath }, errors: [...CHANGING] }

/** Registers the routes for files and folders of a workspace. */
export function fileRoutes(deps: BrowseDeps, guard: BrowseGuard) {
  const app = new Hono<BackendEnv>()
  const { change, workspaceOf } = createDesk(deps)

  app.get(
    '/api/browse/tree',
    endpoint({ summary: 'Lists the files of a workspace', tag: 'Files', ...treeAnswers }),
    guard,
    validate('query', TreeQuery),
    async (c) => {
      const { agentId, depth } = c.req.valid('query')
      return c.json({ ok: true, ...(await workspaceOf(c, agentId).use((files) => files.tree(depth))) })
    },
  )

  app.get(
    '/api/browse/read',
    endpoint({ summary: 'Reads a text file', tag: 'Files', ...readAnswers }),
    guard,
    validate('query', PathQuery),
    async (c) => {
      const { agentId, path } = c.req.valid('query')
      const reading = workspaceOf(c, agentId).use((files) => files.read(path))
      const file = await reading.catch(refuseMissing)
      return c.json({ ok: true, ...file, modified: file.modified.toISOString() })
    },
  )

  app.post(
    '/api/browse/write',
    endpoint({ summary: 'Writes a text file', tag: 'Files', ...writeAnswers }),
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

  app.get(
    '/api/browse/search',
    endpoint({ summary: 'Searches files by name or content', tag: 'Files', ...searchAnswers }),
    guard,
    validate('query', FileSearchQuery),
    async (c) => {
      const { agentId, q, in: where } = c.req.valid('query')
      const search = (files: WorkspaceFiles) => (where === 'name' ? files.searchNames(q) : files.searchContent(q))
      return c.json({ ok: true, ...(await workspaceOf(c, agentId).use(search)) })
    },
  )

  app.get(
    '/api/browse/download',
    endpoint({ summary: 'Downloads a file', tag: 'Files', ...downloadAnswers }),
    guard,
    validate('query', PathQuery),
    async (c) => {
      const { agentId, path } = c.req.valid('query')
      const file = await workspaceOf(c, agentId).use((files) => files.download(path))
      c.header('content-type', 'application/octet-stream')
      c.header('content-length', String(file.size))
      c.header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`)
      return c.body(file.body)
    },
  )

  app.route('/', changeRoutes(deps, guard))
  return app
}

/** Registers the routes that create, move and delete files and folders. */
function changeRoutes(deps: BrowseDeps, guard: BrowseGuard) {
  const app = new Hono<BackendEnv>()
  const { change, workspaceOf } = createDesk(deps)

  app.post(
    '/api/browse/upload',
    endpoint({ summary: 'Uploads a file', tag: 'Files', ...uploadAnswers, ...uploadTraits }),
    guard,
    validate('query', UploadQuery),
    async (c) => {
      const { agentId, path, ifMatch } = c.req.valid('query')
      const workspace = workspaceOf(c, agentId)
      const bytes = await receiveBytes(c)
      const write = () => workspace.use((files) => files.write(path, bytes, ifMatch))
      return c.json({ ok: true, ...(await change(workspace, toStoredBytes(bytes), write)) }, 201)
    },
  )

  app.post(
    '/api/browse/mkdir',
    endpoint({ summary: 'Creates a folder', tag: 'Files', ...makeFolderAnswers }),
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
    endpoint({ summary: 'Renames or moves a file or folder', tag: 'Files', ...renameAnswers }),
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

  app.delete(
    '/api/browse/delete',
    endpoint({ summary: 'Deletes a file or folder', tag: 'Files', ...renameAnswers }),
    guard,
    validate('query', PathQuery),
    async (c) => {
      const { agentId, path } = c.req.valid('query')
      const workspace = workspaceOf(c, agentId)
      await change(workspace, 0, () => workspace.use((files) => files.delete(path)))
      return c.json({ ok: true, path })
    },
  )

  return app
}

function toStoredBytes(bytes: Uint8Array): number {
  return bytes.length + ENTRY_BYTES
}

/** The API contract answers 400 for every path that is not a regular file, including a missing one. */
function refuseMissing(error: unknown): never {
  if (error instanceof AppError && error.kind === 'not_found') {
    throw new AppError('invalid', `Not a regular file: ${error.message}`, {}, { cause: error })
  }
  throw error
}
