import git from 'isomorphic-git'
import type { FolderRoot } from '../files/open.ts'
import { openGitFiles } from './files.ts'

/** A file in HEAD, the index or the working tree; `oid` is its content hash, empty until computed. */
export type Side = { oid: string; mode: number; read: () => Promise<Uint8Array>; size: () => Promise<number> }

/** A path that differs between HEAD, index and working tree; null means absent there. */
export type GitChange = { path: string; head: Side | null; index: Side | null; work: Side | null }

/** Common arguments of isomorphic-git calls, with a cache for one operation. */
export type Repository = { fs: ReturnType<typeof openGitFiles>; dir: string; cache: object }

type Walked = import('isomorphic-git').WalkerEntry | null

const WORK_TREE = '/'

export function openRepository(root: FolderRoot): Repository {
  return { fs: openGitFiles(root), dir: WORK_TREE, cache: {} }
}

/** Lists by path the differences between HEAD, index and working tree, without ignored files. */
export async function listChanges(repository: Repository): Promise<GitChange[]> {
  const changes: unknown = await git.walk({
    ...repository,
    trees: [git.TREE({ ref: 'HEAD' }), git.WORKDIR({ refresh: false }), git.STAGE()],
    map: (path, [head = null, work = null, index = null]) => toChange(repository, path, head, work, index),
    reduce: async (own: GitChange[] | undefined, below: GitChange[][]) => [...(own ?? []), ...below.flat()],
  })
  return isChanges(changes) ? changes : []
}

/** Returns null to skip everything below a path, undefined to continue. */
async function toChange(repository: Repository, path: string, head: Walked, work: Walked, index: Walked) {
  if (path === '.') return undefined
  const isTracked = head !== null || index !== null
  if (!isTracked && work && (await isLeftOut(repository, path, work))) return null
  const [headType, workType, indexType] = await Promise.all([head?.type(), work?.type(), index?.type()])
  // Submodules are separate repositories.
  if (headType === 'commit' || indexType === 'commit') return null
  const change: GitChange = {
    path,
    head: headType === 'blob' ? await toSide(repository, head) : null,
    index: indexType === 'blob' ? await toSide(repository, index) : null,
    work: workType === 'blob' ? await toWorkSide(work, isTracked) : null,
  }
  const isSame = isSameSide(change.head, change.index) && isSameSide(change.index, change.work)
  return isSame ? undefined : [change]
}

export function isSameSide(a: Side | null, b: Side | null): boolean {
  return a?.oid === b?.oid && a?.mode === b?.mode
}

async function isLeftOut(repository: Repository, path: string, work: import('isomorphic-git').WalkerEntry) {
  if (await git.isIgnored({ ...repository, filepath: path })) return true
  if ((await work.type()) !== 'tree') return false
  return repository.fs.promises.stat(`/${path}/.git`).then(
    () => true,
    () => false,
  )
}

async function toSide(repository: Repository, entry: Walked): Promise<Side | null> {
  const oid = await entry?.oid()
  if (!entry || oid === undefined) return null
  const read = async () => (await git.readBlob({ ...repository, oid })).blob
  return { oid, mode: await entry.mode(), read, size: async () => (await read()).length }
}

async function toWorkSide(entry: Walked, isTracked: boolean): Promise<Side | null> {
  if (!entry) return null
  const oid = isTracked ? await entry.oid() : ''
  if (oid === undefined) return null
  const read = async () => (await entry.content()) ?? new Uint8Array()
  return { oid, mode: await entry.mode(), read, size: async () => (await entry.stat()).size }
}

function isChanges(value: unknown): value is GitChange[] {
  return Array.isArray(value)
}
