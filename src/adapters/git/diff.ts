import { formatPatch, type StructuredPatch, structuredPatch } from 'diff'
import { type GitChange, isSameSide, type Side } from './changes.ts'

const MAX_FILE_BYTES = 1024 * 1024
const MAX_PATCH_CHARS = 1024 * 1024
const MAX_COMPARE_MS = 250
/** Git treats a file as binary when its first 8,000 bytes contain a NUL. */
const PROBE_BYTES = 8000

/** A patch in Git's format, null without changes; `isComplete` is false when it was cut. */
type GitPatch = { text: string | null; isComplete: boolean }

/** Returns the output of `git diff`: index against working tree, without untracked files. */
export function diffUnstaged(changes: readonly GitChange[]): Promise<GitPatch> {
  return toPatch(
    changes.filter(({ index }) => index !== null),
    ({ index, work }) => [index, work],
  )
}

/** Returns the output of `git diff --staged`: HEAD against index. */
export function diffStaged(changes: readonly GitChange[]): Promise<GitPatch> {
  return toPatch(changes, ({ head, index }) => [head, index])
}

type Pair = [before: Side | null, after: Side | null]

async function toPatch(changes: readonly GitChange[], toPair: (change: GitChange) => Pair): Promise<GitPatch> {
  let text = ''
  for (const change of changes) {
    const pair = toPair(change)
    if (isSameSide(...pair)) continue
    if (text.length > MAX_PATCH_CHARS) return { text, isComplete: false }
    text += await toFilePatch(change.path, ...pair)
    // Yields to the event loop between long comparisons.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { text: text === '' ? null : text, isComplete: true }
}

async function toFilePatch(path: string, before: Side | null, after: Side | null): Promise<string> {
  const { hunks, note } = before?.oid === after?.oid ? { hunks: [] } : await compare(path, before, after)
  const patch: StructuredPatch = {
    isGit: true,
    ...(before ? { oldMode: toText(before.mode) } : { isCreate: true }),
    ...(after ? { newMode: toText(after.mode) } : { isDelete: true }),
    oldFileName: before ? `a/${path}` : '/dev/null',
    newFileName: after ? `b/${path}` : '/dev/null',
    oldHeader: undefined,
    newHeader: undefined,
    hunks,
  }
  // Git prints modes only when they change.
  if (patch.oldMode === patch.newMode) delete patch.oldMode
  return `${formatPatch(patch)}${note ? `${note}\n` : ''}`
}

type Comparison = { hunks: StructuredPatch['hunks']; note?: string }

/** Returns the differing lines, or the reason why they are not shown. */
async function compare(path: string, before: Side | null, after: Side | null): Promise<Comparison> {
  const without = (what: string) => ({ hunks: [], note: `${what} a/${path} and b/${path} differ` })
  const sizes = await Promise.all([before?.size(), after?.size()])
  if (sizes.some((size) => size !== undefined && size > MAX_FILE_BYTES)) return without('Large files')
  const [old = new Uint8Array(), now = new Uint8Array()] = await Promise.all([before?.read(), after?.read()])
  if (isBinary(old) || isBinary(now)) return without('Binary files')
  const options = { context: 3, timeout: MAX_COMPARE_MS }
  const compared = structuredPatch(path, path, decode(old), decode(now), undefined, undefined, options)
  return compared ?? without('Very different files')
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

function toText(mode: number): string {
  return mode.toString(8)
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, PROBE_BYTES).includes(0)
}
