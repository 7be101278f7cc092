import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  ChangedPath,
  FileContent,
  FileTree,
  FoundFiles,
  GitDiff,
  GitLog,
  GitStarted,
  GitStatus,
  GitSynced,
  WrittenFile,
} from '../../src/features/web-tools/browse/schemas.ts'
import { api, asBytes, request, within } from '../api/request.ts'

/** Maximum depth of the server's listing. */
const DEPTH = 4
const LONG_MS = 90_000

export type Folder = z.infer<typeof FileTree>['root']
export type FolderEntry = Folder['children'][number]
export type OpenedFile = z.infer<typeof FileContent>
type Written = z.infer<typeof WrittenFile>

/** Polls, because the agent changes files too. */
export function treeQuery(agentId: string) {
  return queryOptions({
    queryKey: filesKey(agentId, 'tree'),
    queryFn: ({ signal }) =>
      request(FileTree, api.GET('/api/browse/tree', { params: { query: { agentId, depth: DEPTH } }, signal })),
    refetchInterval: 10_000,
  })
}

/** Includes the hash for detecting conflicting changes. */
export function fileQuery(agentId: string, path: string) {
  return queryOptions({
    queryKey: filesKey(agentId, 'file', path),
    queryFn: ({ signal }) =>
      request(FileContent, api.GET('/api/browse/read', { params: { query: { agentId, path } }, signal })),
    refetchInterval: 10_000,
    gcTime: 0,
  })
}

/** `isGitRepo` is false without a repository. */
export function statusQuery(agentId: string) {
  return queryOptions({
    queryKey: filesKey(agentId, 'status'),
    queryFn: ({ signal }) =>
      request(GitStatus, api.GET('/api/browse/git-status', { params: { query: { agentId } }, signal })),
    refetchInterval: 15_000,
  })
}

export function changesQuery(agentId: string, path: string) {
  return queryOptions({
    queryKey: filesKey(agentId, 'changes', path),
    queryFn: ({ signal }) =>
      request(GitDiff, api.GET('/api/browse/git-diff', { params: { query: { agentId, path } }, signal })),
  })
}

export function gitHistoryQuery(agentId: string) {
  return queryOptions({
    queryKey: filesKey(agentId, 'history'),
    queryFn: ({ signal }) =>
      request(GitLog, api.GET('/api/browse/git-log', { params: { query: { agentId, limit: 50 } }, signal })),
  })
}

export function fileSearchQuery(agentId: string, text: string) {
  const find = (where: 'name' | 'content', signal: AbortSignal) =>
    request(FoundFiles, api.GET('/api/browse/search', { params: { query: { agentId, q: text, in: where } }, signal }))
  return queryOptions({
    queryKey: filesKey(agentId, 'search', text),
    queryFn: async ({ signal }) => {
      const [names, lines] = await Promise.all([find('name', signal), find('content', signal)])
      return { matches: [...names.matches, ...lines.matches], isComplete: names.isComplete && lines.isComplete }
    },
    enabled: text !== '',
  })
}

/** `ifMatch` is the hash the file must still have; null requires that it does not exist. */
export function writeText(agentId: string, path: string, content: string, ifMatch?: string | null): Promise<Written> {
  const body = { path, content, ...(ifMatch !== undefined && { ifMatch }) }
  return request(WrittenFile, api.POST('/api/browse/write', { params: { query: { agentId } }, body }))
}

/** Replaces an existing file of the same name. */
export function uploadFile(agentId: string, path: string, file: Blob): Promise<Written> {
  return request(
    WrittenFile,
    api.POST('/api/browse/upload', { params: { query: { agentId, path } }, ...asBytes(file), fetch: within(LONG_MS) }),
  )
}

export function makeFolder(agentId: string, path: string) {
  return request(ChangedPath, api.POST('/api/browse/mkdir', { params: { query: { agentId } }, body: { path } }))
}

export function renameEntry(agentId: string, from: string, to: string) {
  return request(ChangedPath, api.POST('/api/browse/rename', { params: { query: { agentId } }, body: { from, to } }))
}

export function deleteEntry(agentId: string, path: string) {
  return request(
    z.object({ ok: z.literal(true) }),
    api.DELETE('/api/browse/delete', { params: { query: { agentId, path } } }),
  )
}

export function startHistory(agentId: string) {
  return request(
    GitStarted,
    api.POST('/api/browse/git-init', { params: { query: { agentId } }, fetch: within(LONG_MS) }),
  )
}

/** Stages everything, commits, and pushes when a remote exists. */
export function commitAll(agentId: string, message: string) {
  const body = message ? { message } : {}
  return request(
    GitSynced,
    api.POST('/api/browse/git-sync', { params: { query: { agentId } }, body, fetch: within(LONG_MS) }),
  )
}

/** Translates Git's status letters. */
export function describeGitStatus(letters: string): string {
  if (/[?A]/.test(letters)) return 'new'
  if (letters.includes('D')) return 'deleted'
  return letters.includes('R') ? 'moved' : 'changed'
}

export function downloadPath(agentId: string, path: string): string {
  return `/api/browse/download?${new URLSearchParams({ agentId, path })}`
}

export function filesKey(agentId: string, ...parts: string[]): readonly string[] {
  return ['files', agentId, ...parts]
}
