import type { WorkspaceImport } from '../../src/features/conversations/memory/schemas.ts'

/** A file that somebody chose; `path` is where it is in the folder that was chosen, or its name. */
export type ChosenFile = { path: string; size: number }
/** Where a file of a workspace goes: into the instructions, or into the facts under its path. */
export type FoundFile<File extends ChosenFile> = { file: File; path: string; into: 'instructions' | 'facts' }

const SOUL = 'SOUL.md'
const KNOWLEDGE = /(?:^|\/)(SOUL\.md|MEMORY\.md|USER\.md)$/
/** A day of the diary that was chosen without its folder. */
const DAY = /^\d{4}-\d{2}-\d{2}[^/]*\.md$/

/** So many files are brought in one go, and so many bytes. */
export const MAX_FILES = 200
export const MAX_BYTES = 7_000_000

/**
 * What of the chosen files belongs to an OpenClaw workspace, by its path in that: of several workspaces the one nearest to
 * what was chosen. The files of the root come first, then the newest days.
 */
export function findWorkspace<File extends ChosenFile>(files: readonly File[]): FoundFile<File>[] {
  const found = files.flatMap((file) => {
    const whole = DAY.test(file.path) ? `memory/${file.path}` : file.path
    const path = findKnowledge(whole)
    return path === undefined ? [] : [{ file, path, root: whole.slice(0, -path.length) }]
  })
  const roots = found.map(({ root }) => root)
  const nearest = roots.toSorted((one, other) => depthOf(one) - depthOf(other) || one.localeCompare(other))[0]
  return found
    .filter(({ root }) => root === nearest)
    .map(({ file, path }) => ({ file, path, into: path === SOUL ? ('instructions' as const) : ('facts' as const) }))
    .sort((one, other) => depthOf(one.path) - depthOf(other.path) || other.path.localeCompare(one.path))
}

/** As much as is taken in one go, from the front. */
export function takeWithinLimits<File extends ChosenFile>(found: readonly FoundFile<File>[]): FoundFile<File>[] {
  let bytes = 0
  const taken: FoundFile<File>[] = []
  for (const each of found.slice(0, MAX_FILES)) {
    if (bytes + each.file.size > MAX_BYTES) continue
    bytes += each.file.size
    taken.push(each)
  }
  return taken
}

/** The request that imports them. */
export async function toImport(
  agentId: string,
  found: readonly FoundFile<ChosenFile & { text(): Promise<string> }>[],
): Promise<WorkspaceImport> {
  return { agentId, files: await Promise.all(found.map(async ({ file, path }) => ({ path, text: await file.text() }))) }
}

/** Returns the path inside the workspace; undefined for a file that is no part of one. */
function findKnowledge(path: string): string | undefined {
  const memory = path.endsWith('.md') ? `/${path}`.indexOf('/memory/') : -1
  return memory === -1 ? KNOWLEDGE.exec(path)?.[1] : path.slice(memory)
}

function depthOf(path: string): number {
  return path.split('/').length
}
