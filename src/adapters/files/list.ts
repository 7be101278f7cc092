import { readdir } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { AppError } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { readFileBytes, TEMPORARY_PREFIX } from './bytes.ts'
import { toFileError } from './files.ts'
import { type FolderRoot, type OpenFolder, withEntry, withFolder } from './open.ts'

/** Folders that listings and searches skip. */
const EXCLUDED = new Set(['node_modules', '.git', '.next', 'dist', 'build', '.cache', '__pycache__'])
const MAX_ENTRIES = 5000
const MAX_SEARCHED = 20_000
const MAX_MATCHES = 100
const MAX_DEPTH = 32
const MAX_MILLISECONDS = 2000
const MAX_SEARCHED_BYTES = 1024 * 1024
const MAX_LINE_CHARS = 200

export type FileNode = { type: 'file'; name: string; path: string }
export type FolderNode = { type: 'folder'; name: string; path: string; children: TreeNode[] }
export type TreeNode = FileNode | FolderNode
type Match = { path: string; line: number | null; text: string | null }
type Entry = { name: string; isFolder: boolean; isFile: boolean }

/** Remaining work of a listing or search. */
type Allowance = { entries: number; endMs: number; isComplete: boolean }

const collator = new Intl.Collator('en')

/**
 * Lists files and folders `depth` levels deep, at most 5,000; `isComplete` is false when some are left out.
 * @throws AppError `not_found` without a workspace.
 */
export async function listTree(root: FolderRoot, depth: number): Promise<{ root: FolderNode; isComplete: boolean }> {
  const allowance = allow(MAX_ENTRIES)
  const name = root.below.at(-1) ?? root.base.split('/').at(-1) ?? ''
  const children = await inRoot(root, (folder) => toNodes(folder, '', depth, allowance))
  return { root: { type: 'folder', name, path: '', children }, isComplete: allowance.isComplete }
}

/** Finds names that contain `text`, ignoring case: at most 100 matches in the first 20,000 entries, within 2 s. */
export async function searchNames(root: FolderRoot, text: string) {
  const wanted = text.toLowerCase()
  return search(root, async (_folder, entry, path) =>
    entry.name.toLowerCase().includes(wanted) ? [{ path, line: null, text: null }] : [],
  )
}

/** Finds lines that contain `text` in text files of at most 1 MB, with the limits of `searchNames`. */
export async function searchContent(root: FolderRoot, text: string) {
  const wanted = text.toLowerCase()
  return search(root, async (folder, entry, path) => {
    const lines = entry.isFile ? await readLines(folder, entry.name) : []
    return lines.flatMap((line, index) =>
      line.toLowerCase().includes(wanted) ? [{ path, line: index + 1, text: line.slice(0, MAX_LINE_CHARS) }] : [],
    )
  })
}

/** Lists folders first, then alphabetically, without links and special files. */
async function listVisible(folder: OpenFolder, allowance: Allowance): Promise<Entry[]> {
  const entries = await readdir(folder.at('.'), { withFileTypes: true })
  // Sorting a million names would block the event loop.
  if (entries.length > MAX_SEARCHED) allowance.isComplete = false
  return entries
    .slice(0, MAX_SEARCHED)
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory(), isFile: entry.isFile() }))
    .filter(({ name, isFolder, isFile }) =>
      isFolder ? !EXCLUDED.has(name) : isFile && !name.startsWith(TEMPORARY_PREFIX),
    )
    .sort((a, b) => Number(b.isFolder) - Number(a.isFolder) || collator.compare(a.name, b.name))
}

async function toNodes(folder: OpenFolder, prefix: string, depth: number, allowance: Allowance): Promise<TreeNode[]> {
  const nodes: TreeNode[] = []
  for (const { name, isFolder } of await listVisible(folder, allowance)) {
    if (!spend(allowance)) break
    const path = `${prefix}${name}`
    if (!isFolder) nodes.push({ type: 'file', name, path })
    else nodes.push({ type: 'folder', name, path, children: depth > 1 ? await toInnerNodes(folder, name, path) : [] })
  }
  return nodes

  function toInnerNodes(outer: OpenFolder, name: string, path: string): Promise<TreeNode[]> {
    return unlessGone(
      withEntry(outer, name, (inner) => toNodes(inner, `${path}/`, depth - 1, allowance)),
      [],
    )
  }
}

type FindMatches = (folder: OpenFolder, entry: Entry, path: string) => Promise<Match[]>

async function search(root: FolderRoot, findMatches: FindMatches) {
  const allowance = allow(MAX_SEARCHED)
  const matches: Match[] = []
  await inRoot(root, (folder) => searchBelow(folder, '', MAX_DEPTH))
  return { matches: matches.slice(0, MAX_MATCHES), isComplete: allowance.isComplete && matches.length <= MAX_MATCHES }

  async function searchBelow(folder: OpenFolder, prefix: string, depth: number): Promise<void> {
    if (depth === 0) allowance.isComplete = false
    for (const entry of depth === 0 ? [] : await listVisible(folder, allowance)) {
      if (matches.length > MAX_MATCHES || !spend(allowance)) return
      const path = `${prefix}${entry.name}`
      matches.push(...(await unlessGone(findMatches(folder, entry, path), [])))
      if (!entry.isFolder) continue
      await unlessGone(
        withEntry(folder, entry.name, (inner) => searchBelow(inner, `${path}/`, depth - 1)),
        undefined,
      )
    }
  }
}

async function inRoot<T>(root: FolderRoot, use: (folder: OpenFolder) => Promise<T>): Promise<T> {
  try {
    return await withFolder(root, [], use)
  } catch (error) {
    throw toFileError(error, 'workspace')
  }
}

/** Returns no lines for a file that is binary, too large or no longer regular. */
async function readLines(folder: OpenFolder, name: string): Promise<string[]> {
  try {
    const { bytes } = await readFileBytes(folder, name, MAX_SEARCHED_BYTES)
    return bytes.includes(0) ? [] : new StringDecoder('utf8').end(bytes).split('\n')
  } catch (error) {
    if (error instanceof AppError) return []
    throw error
  }
}

/** Returns `otherwise` for an entry that was deleted or replaced during the listing. */
async function unlessGone<T>(work: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EACCES'].includes(systemCode(error) ?? '')) return otherwise
    throw error
  }
}

function allow(entries: number): Allowance {
  return { entries, endMs: performance.now() + MAX_MILLISECONDS, isComplete: true }
}

function spend(allowance: Allowance): boolean {
  allowance.entries -= 1
  const isAllowed = allowance.entries >= 0 && performance.now() <= allowance.endMs
  if (!isAllowed) allowance.isComplete = false
  return isAllowed
}
