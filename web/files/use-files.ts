import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, refresh } from '../api/query-client.ts'
import { ApiError, messageFor } from '../api/request.ts'
import {
  deleteEntry,
  downloadPath,
  type Folder,
  filesKey,
  makeFolder,
  renameEntry,
  treeQuery,
  uploadFile,
  writeText,
} from './files-api.ts'

type Undo = { text: string; restore: () => Promise<unknown> }

/** The server's upload limit; larger files cannot be restored by undo. */
const MAX_FILE_BYTES = 1024 * 1024

/** `undo` reverts the last change that supports it. */
export function useFiles(agentId: string) {
  const [undo, setUndo] = useState<Undo | null>(null)
  const reload = () => refresh({ queryKey: filesKey(agentId) })
  const change = useMutation({
    mutationFn: async (task: () => Promise<Undo | undefined>) => setUndo((await task()) ?? null),
    onSettled: reload,
  })
  // Navigates before reloading, so that a deleted file is not requested.
  const run = (task: () => Promise<Undo | undefined>) => change.mutate(task)
  return {
    isPending: change.isPending,
    error: change.error,
    undo,
    takeBack: () =>
      undo &&
      run(async () => {
        await undo.restore()
        return undefined
      }),
    forget: () => {
      setUndo(null)
      change.reset()
    },
    refresh: reload,
    createFile: (path: string, onDone: () => Promise<void>) =>
      run(async () => {
        await writeText(agentId, path, '', null)
        await onDone()
        return undefined
      }),
    createFolder: (path: string) =>
      run(async () => {
        await makeFolder(agentId, path)
        return undefined
      }),
    rename: (from: string, to: string, onDone: () => Promise<void>) =>
      run(async () => {
        await renameEntry(agentId, from, to)
        await onDone()
        return { text: `${from} renamed to ${to}.`, restore: () => renameEntry(agentId, to, from) }
      }),
    remove: (path: string, kind: 'file' | 'folder', onDone: () => Promise<void>) =>
      run(async () => {
        const kept = kind === 'file' ? await keep(agentId, path) : null
        await deleteEntry(agentId, path)
        await onDone()
        return kept ? { text: `${path} deleted.`, restore: () => uploadFile(agentId, path, kept) } : undefined
      }),
    upload: (folder: string, files: readonly File[]) =>
      run(async () => {
        const { root } = await queryClient.fetchQuery({ ...treeQuery(agentId), staleTime: 0 })
        const replaced: Kept[] = []
        // Continues with the other files, so that all successful uploads can be undone.
        const refused: { path: string; error: unknown }[] = []
        for (const file of files) {
          const path = joinPath(folder, file.name)
          try {
            if (file.size > MAX_FILE_BYTES) throw tooLarge(path)
            const before = hasPath(root, path) ? await keep(agentId, path) : null
            await uploadFile(agentId, path, file)
            if (before) replaced.push({ path, before })
          } catch (error) {
            refused.push({ path, error })
          }
        }
        const way = replaced.length === 0 ? undefined : wayBack(agentId, replaced)
        const [first, ...others] = refused
        if (!first) return way
        setUndo(way ?? null)
        throw others.length === 0 ? first.error : notBrought(first.error, others)
      }),
  }
}

type Kept = { path: string; before: Blob }

function wayBack(agentId: string, replaced: readonly Kept[]): Undo {
  const names = replaced.map(({ path }) => path).join(', ')
  return {
    text: `${names} replaced.`,
    restore: () => Promise.all(replaced.map(({ path, before }) => uploadFile(agentId, path, before))),
  }
}

function tooLarge(path: string): ApiError {
  return new ApiError(413, `${path} is too large. Uploads are limited to 1 MB.`)
}

function notBrought(error: unknown, others: readonly { path: string }[]): ApiError {
  const status = error instanceof ApiError ? error.status : 0
  return new ApiError(status, `${messageFor(error)} Also not uploaded: ${others.map(({ path }) => path).join(', ')}.`)
}

function hasPath({ children }: Folder, path: string): boolean {
  return children.some((entry) => entry.path === path || (entry.type === 'folder' && hasPath(entry, path)))
}

/** Reads a file before it is deleted; null when it is too large to restore. */
async function keep(agentId: string, path: string): Promise<Blob | null> {
  const response = await fetch(downloadPath(agentId, path))
  if (!response.ok || Number(response.headers.get('content-length')) > MAX_FILE_BYTES) return null
  return response.blob()
}

export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** Returns the folder of a path, empty for the root. */
export function folderOf(path: string): string {
  return path.split('/').slice(0, -1).join('/')
}
