import { Hono } from 'hono'
import { toParts } from '../../../adapters/files/open.ts'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { deleteGitCredentials, setGitCredentials, startVersionHistory, syncWorkspace, toRelativeTime } from './git.ts'
import {
  CredentialsRequest,
  DiffQuery,
  ForgottenCredentials,
  GitDiff,
  GitLog,
  GitLogQuery,
  GitStarted,
  GitStatus,
  GitSynced,
  KeptCredentials,
  OriginQuery,
  SyncRequest,
  WorkspaceQuery,
} from './schemas.ts'
import { type BrowseDeps, type BrowseGuard, createDesk, ENTRY_BYTES, READING } from './workspace.ts'

const statusAnswers: Responses = { responses: { 200: GitStatus }, errors: [...READING] }
const diffAnswers: Responses = { responses: { 200: GitDiff }, errors: [...READING, 'internal'] }
const syncAnswers: Responses = { responses: { 200: GitSynced }, errors: [...READING, 'internal'] }
const initAnswers: Responses = { responses: { 201: GitStarted }, errors: [...READING, 'conflict', 'internal'] }
const logAnswers: Responses = { responses: { 200: GitLog }, errors: [...READING, 'internal'] }
const keepCredentialsAnswers: Responses = { responses: { 200: KeptCredentials }, errors: [...READING] }
const forgetCredentialsAnswers: Responses = { responses: { 200: ForgottenCredentials }, errors: [...READING] }

/** Registers the routes for the Git repository of a workspace. */
export function gitRoutes(deps: BrowseDeps, guard: BrowseGuard) {
  const app = new Hono<BackendEnv>()
  const { change, workspaceOf } = createDesk(deps)

  app.get(
    '/api/browse/git-status',
    endpoint({ summary: 'Returns uncommitted changes', tag: 'Files', ...statusAnswers }),
    guard,
    validate('query', WorkspaceQuery),
    async (c) => {
      const workspace = workspaceOf(c, c.req.valid('query').agentId)
      const look = () => workspace.use((files) => files.status())
      return c.json({ ok: true, ...(await deps.oneAtATime(workspace, look)) })
    },
  )

  app.get(
    '/api/browse/git-diff',
    endpoint({ summary: 'Returns a line diff', tag: 'Files', ...diffAnswers }),
    guard,
    validate('query', DiffQuery),
    async (c) => {
      const { agentId, path } = c.req.valid('query')
      const workspace = workspaceOf(c, agentId)
      const below = path === undefined ? null : toParts(path).join('/')
      const look = () => workspace.use((files) => files.diff(below))
      return c.json({ ok: true, ...(await deps.oneAtATime(workspace, look)) })
    },
  )

  app.post(
    '/api/browse/git-sync',
    endpoint({ summary: 'Commits and pushes all changes', tag: 'Files', ...syncAnswers }),
    guard,
    validate('query', WorkspaceQuery),
    validateAnyBody(SyncRequest),
    async (c) => {
      const { message } = c.req.valid('json')
      const workspace = workspaceOf(c, c.req.valid('query').agentId)
      const sync = () => syncWorkspace(deps, workspace, c.var.principal, message)
      return c.json({ ok: true, ...(await change(workspace, ENTRY_BYTES, sync)) })
    },
  )

  app.post(
    '/api/browse/git-init',
    endpoint({ summary: 'Creates a git repository with a first commit', tag: 'Files', ...initAnswers }),
    guard,
    validate('query', WorkspaceQuery),
    async (c) => {
      const workspace = workspaceOf(c, c.req.valid('query').agentId)
      const start = () => startVersionHistory(deps, workspace, c.var.principal)
      return c.json({ ok: true, ...(await change(workspace, ENTRY_BYTES, start)) }, 201)
    },
  )

  app.get(
    '/api/browse/git-log',
    endpoint({ summary: 'Lists commits', tag: 'Files', ...logAnswers }),
    guard,
    validate('query', GitLogQuery),
    async (c) => {
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
    },
  )

  return app
}

/** Registers the routes for credentials of Git remotes; a password is never returned. */
export function credentialRoutes(deps: BrowseDeps, credentialsGuard: BrowseGuard) {
  const app = new Hono<BackendEnv>()
  const { workspaceOf } = createDesk(deps)

  app.put(
    '/api/browse/git-credentials',
    endpoint({ summary: 'Saves git credentials', tag: 'Files', ...keepCredentialsAnswers }),
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
    endpoint({ summary: 'Deletes git credentials', tag: 'Files', ...forgetCredentialsAnswers }),
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
