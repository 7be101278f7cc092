import type { WorkspaceImport } from '../../src/features/conversations/memory/schemas.ts'

/** `path` is relative to the chosen folder, or the file name. */
type ChosenFile = { path: string; size: number }
/** `into` says whether the file joins the instructions or becomes a fact under its path. */
export type FoundFile<File extends ChosenFile> = { file: File; path: string; into: 'instructions' | 'facts' }

const SOUL = 'SOUL.md'
const KNOWLEDGE = /(?:^|\/)(SOUL\.md|MEMORY\.md|USER\.md)$/
/** A diary day chosen without its folder. */
const DAY = /^\d{4}-\d{2}-\d{2}[^/]*\.md$/

/** Limits of one import. */
export const MAX_FILES = 200
const MAX_BYTES = 7_000_000

/** Returns the files of the OpenClaw workspace nearest to the chosen folder: root files first, then the newest days. */
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

export async function toImport(
  agentId: string,
  found: readonly FoundFile<ChosenFile & { text(): Promise<string> }>[],
): Promise<WorkspaceImport> {
  return { agentId, files: await Promise.all(found.map(async ({ file, path }) => ({ path, text: await file.text() }))) }
}

/** Returns the path inside the workspace, or undefined for files that do not belong to one. */
function findKnowledge(path: string): string | undefined {
  const memory = path.endsWith('.md') ? `/${path}`.indexOf('/memory/') : -1
  return memory === -1 ? KNOWLEDGE.exec(path)?.[1] : path.slice(memory)
}

function depthOf(path: string): number {
  return path.split('/').length
}
