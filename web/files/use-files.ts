import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deleteEntry, downloadPath, filesKey, makeFolder, renameEntry, uploadFile, writeText } from './files-api.ts'

/** What can be taken back, in the words of a button's sentence. */
type Undo = { text: string; restore: () => Promise<unknown> }

/** Larger ones are not kept for the way back. */
const MAX_KEPT_BYTES = 1_000_000

/** What changes the files of an agent. `undo` is the way back from the last change that has one. */
export function useFiles(agentId: string) {
  const client = useQueryClient()
  const [undo, setUndo] = useState<Undo | null>(null)
  const refresh = () => client.invalidateQueries({ queryKey: filesKey(agentId) })
  const change = useMutation({
    mutationFn: async (task: () => Promise<Undo | undefined>) => setUndo((await task()) ?? null),
    onSettled: refresh,
  })
  // Another page is gone to before the files are read anew: what is not there any more is not asked for.
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
    refresh,
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
        return { text: `${from} is now ${to}.`, restore: () => renameEntry(agentId, to, from) }
      }),
    remove: (path: string, kind: 'file' | 'folder', onDone: () => Promise<void>) =>
      run(async () => {
        const kept = kind === 'file' ? await keep(agentId, path) : null
        await deleteEntry(agentId, path)
        await onDone()
        return kept ? { text: `${path} was deleted.`, restore: () => uploadFile(agentId, path, kept) } : undefined
      }),
    upload: (folder: string, files: readonly File[]) =>
      run(async () => {
        for (const file of files) await uploadFile(agentId, joinPath(folder, file.name), file)
        return undefined
      }),
  }
}

/** What a file holds, before it is deleted; null when it is too large to be kept. */
async function keep(agentId: string, path: string): Promise<Blob | null> {
  const response = await fetch(downloadPath(agentId, path))
  if (!response.ok || Number(response.headers.get('content-length')) > MAX_KEPT_BYTES) return null
  return response.blob()
}

export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** The folder that a path lies in, the empty one for the root. */
export function folderOf(path: string): string {
  return path.split('/').slice(0, -1).join('/')
}
