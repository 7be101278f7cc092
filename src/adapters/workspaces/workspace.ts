import {
  deleteEntry,
  downloadFile,
  type FileAfterWrite,
  makeFolder,
  type ReadFile,
  readTextFile,
  renameEntry,
  writeFile,
} from '../files/files.ts'
import { listTree, searchContent, searchNames } from '../files/list.ts'
import type { FolderRoot } from '../files/open.ts'
import type { GitAuthor } from '../git/git.ts'
import type { GitCommit, RepositoryDiff, RepositoryStatus } from '../git/messages.ts'
import type { PushFailure } from '../git/push.ts'
import { createRemoteSender, type PushOptions } from '../git/remote.ts'
import type { GitRunner } from '../git/runner.ts'

/** A file as a stream, of any size. */
export type Download = { name: string; size: number; body: ReadableStream<Uint8Array> }

/** Operations on a local or remote working tree. Each throws like the function of the same name in this folder. */
export type WorkspaceFiles = {
  tree(depth: number): ReturnType<typeof listTree>
  searchNames(text: string): ReturnType<typeof searchNames>
  searchContent(text: string): ReturnType<typeof searchContent>
  read(path: string): Promise<ReadFile>
  download(path: string): Promise<Download>
  write(path: string, bytes: Uint8Array, ifMatch?: string | null): Promise<FileAfterWrite>
  makeFolder(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  delete(path: string): Promise<void>
  status(): Promise<RepositoryStatus>
  diff(path: string | null): Promise<RepositoryDiff>
  log(limit: number): Promise<GitCommit[]>
  commit(message: string, author: GitAuthor): Promise<string | null>
  init(message: string, author: GitAuthor): Promise<string | null>
  push(options: PushOptions): Promise<PushFailure>
}

/** Opens a working tree in a local folder. */
export function openFolderFiles(root: FolderRoot, git: GitRunner): WorkspaceFiles {
  return {
    tree: (depth) => listTree(root, depth),
    searchNames: (text) => searchNames(root, text),
    searchContent: (text) => searchContent(root, text),
    read: (path) => readTextFile(root, path),
    download: (path) => downloadFile(root, path),
    write: (path, bytes, ifMatch) => writeFile(root, path, bytes, ifMatch),
    makeFolder: (path) => makeFolder(root, path),
    rename: (from, to) => renameEntry(root, from, to),
    delete: (path) => deleteEntry(root, path),
    status: () => git.status(root),
    diff: (path) => git.diff(root, path),
    log: (limit) => git.log(root, limit),
    commit: (message, author) => git.commit(root, message, author),
    init: (message, author) => git.init(root, message, author),
    push: (options) => git.push(root, createRemoteSender(options)),
  }
}
