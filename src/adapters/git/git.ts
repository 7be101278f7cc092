import git, { Errors } from 'isomorphic-git'
import { AppError } from '../../core/errors.ts'
import type { FolderRoot } from '../files/open.ts'
import { type GitChange, isSameSide, listChanges, openRepository, type Repository } from './changes.ts'
import { diffStaged, diffUnstaged } from './diff.ts'
import { hasGitEntry, isRepository } from './files.ts'
import { DEFAULT_BRANCH, type GitCommit, type RepositoryDiff, type RepositoryStatus } from './messages.ts'

export type GitAuthor = { name: string; email: string; timeSeconds: number }

/**
 * Returns the state shown by `git status`, with untracked files listed one by one; a missing repository is a normal
 * result.
 * @throws AppError `internal` for an unreadable repository.
 */
export function gitStatus(root: FolderRoot): Promise<RepositoryStatus> {
  return reading('The status of the repository cannot be read', async () => {
    if (!(await isRepository(root))) {
      return { isGitRepo: false, branch: '', remote: null, changes: [], hasChanges: false }
    }
    const repository = openRepository(root)
    const changes = (await listChanges(repository)).flatMap(toStatusLines)
    const { url } = await findRemote(repository)
    return {
      isGitRepo: true,
      branch: await branchOf(repository),
      remote: url === null ? null : maskCredentials(url),
      changes,
      hasChanges: changes.length > 0,
    }
  })
}

/**
 * Returns the unstaged and staged patches for `path`, or for everything when null.
 * @throws AppError `internal` without a readable repository.
 */
export function gitDiff(root: FolderRoot, path: string | null): Promise<RepositoryDiff> {
  return reading('The changes cannot be read', async () => {
    const all = await listChanges(await requireRepository(root))
    const changes = path === null ? all : all.filter((change) => change.path === path || isBelow(change.path, path))
    const [unstaged, staged] = [await diffUnstaged(changes), await diffStaged(changes)]
    return {
      unstaged: unstaged.text,
      staged: staged.text,
      isComplete: unstaged.isComplete && staged.isComplete,
    }
  })
}

/**
 * Returns the newest commits first; empty on a branch without commits.
 * @throws AppError `internal` without a readable repository.
 */
export function gitLog(root: FolderRoot, limit: number): Promise<GitCommit[]> {
  return reading('The log cannot be read', async () => {
    const repository = await requireRepository(root)
    if (!(await hasCommits(repository))) return []
    const commits = await git.log({ ...repository, depth: limit, ref: 'HEAD' })
    return commits.map(({ oid, commit }) => ({
      hash: oid,
      subject: (commit.message.trimStart().split(/\n\s*\n/)[0] ?? '').trim().replaceAll('\n', ' '),
      author: commit.author.name,
      time: new Date(commit.author.timestamp * 1000),
    }))
  })
}

/**
 * Stages and commits all changes.
 * @returns the hash, null without changes.
 * @throws AppError `internal` without a repository or when staging or committing fails.
 */
export function gitCommit(root: FolderRoot, message: string, author: GitAuthor): Promise<string | null> {
  return reading('The changes cannot be committed', async () => {
    const repository = await requireRepository(root)
    const changes = await listChanges(repository)
    for (const { path, work, index } of changes) {
      if (work === null && index !== null) await git.remove({ ...repository, filepath: path })
    }
    for (const { path, work, index } of changes) {
      if (work !== null && !isSameSide(work, index)) await git.add({ ...repository, filepath: path, force: true })
    }
    if (changes.every(({ head, work }) => isSameSide(head, work))) return null
    const person = { ...author, timestamp: author.timeSeconds, timezoneOffset: 0 }
    return await git.commit({ ...repository, message, author: person, committer: person })
  })
}

/**
 * Creates a repository and commits all files that are not ignored.
 * @returns the commit hash, null for an empty root.
 * @throws AppError `conflict` when `.git` exists, `not_found` without the root, `internal` when it fails.
 */
export function gitInit(root: FolderRoot, message: string, author: GitAuthor): Promise<string | null> {
  return reading('The version history cannot be started', async () => {
    if (await hasGitEntry(root)) throw new AppError('conflict', 'These files have a version history already')
    const repository = openRepository(root)
    await git.init({ ...repository, defaultBranch: DEFAULT_BRANCH })
    // `git.init` does nothing when a config exists, even if an interrupted run wrote no HEAD.
    const head = { ref: 'HEAD', value: `refs/heads/${DEFAULT_BRANCH}`, symbolic: true, force: true }
    await git.writeRef({ ...repository, ...head })
    return gitCommit(root, message, author)
  })
}

/** Returns a remote from the repository's configuration; both fields are null without one. */
export async function findRemote(repository: Repository): Promise<{ name: string | null; url: string | null }> {
  const remotes = await git.listRemotes(repository)
  const branch = await git.currentBranch(repository)
  const wanted: unknown = branch ? await git.getConfig({ ...repository, path: `branch.${branch}.remote` }) : undefined
  const found =
    remotes.find(({ remote }) => remote === wanted) ?? remotes.find(({ remote }) => remote === 'origin') ?? remotes[0]
  return { name: found?.remote ?? null, url: found?.url ?? null }
}

/** @throws AppError `internal` when the root is not a repository. */
export async function requireRepository(root: FolderRoot): Promise<Repository> {
  if (!(await isRepository(root))) throw new AppError('internal', 'Not a git repository')
  return openRepository(root)
}

/** Removes credentials from a URL. */
function maskCredentials(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1***@').replace(/([?&][^?=&#]*=)[^&#]*/g, '$1***')
}

/** Returns the result of `git rev-parse --abbrev-ref HEAD`: `HEAD` when detached. */
async function branchOf(repository: Repository): Promise<string> {
  return (await git.currentBranch(repository)) ?? 'HEAD'
}

async function hasCommits(repository: Repository): Promise<boolean> {
  try {
    await git.resolveRef({ ...repository, ref: 'HEAD' })
    return true
  } catch (error) {
    if (error instanceof Errors.NotFoundError) return false
    throw error
  }
}

/** A path removed from the index but present in the working tree has two lines. */
function toStatusLines({ path, head, index, work }: GitChange): { status: string; path: string }[] {
  if (head === null && index === null) return [{ status: '??', path }]
  if (index === null) {
    const removed = { status: 'D', path }
    return work === null ? [removed] : [removed, { status: '??', path }]
  }
  const staged = head === null ? 'A' : isSameSide(head, index) ? ' ' : 'M'
  const unstaged = work === null ? 'D' : isSameSide(index, work) ? ' ' : 'M'
  return [{ status: `${staged}${unstaged}`.trim(), path }]
}

function isBelow(path: string, folder: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`)
}

/** Returns one generic sentence to the caller and keeps details for the log. */
async function reading<T>(failure: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('internal', failure, {}, { cause })
  }
}
