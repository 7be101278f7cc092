import { constants, type Dirent } from 'node:fs'
import { link, lstat, open, readdir, realpath, rm, unlink, utimes } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { syncFolder, writeAtomically } from './files.ts'
import {
  makeFolders,
  requireReplaceable,
  toMovablePath,
  toPathError,
  toPathParts,
  toRealPath,
  toWritableParts,
} from './paths.ts'

const MAX_FILE_BYTES = 1024 * 1024
const MAX_PICTURE_BYTES = 4 * 1024 * 1024
const MAX_LISTED = 500

/** Text files of an agent, at most 1 MB each. Paths are relative, with `/`; a path outside the folder is `invalid`. */
export type AgentWorkspace = {
  /** Lists files below `folder`, at most 500. Does not follow links, and shows the trash only if it is requested. */
  list(folder: string): Promise<{ files: { path: string; sizeBytes: number }[]; isComplete: boolean }>
  /** @throws AppError `not_found`, `invalid` for a bad path or a binary file, `too_large`. */
  read(path: string): Promise<string>
  /** Reads an image of at most 4 MB. @throws AppError as `read`. */
  readPicture(path: string): Promise<Uint8Array>
  /** Replaces the whole file and creates its folders. @throws AppError `invalid`, `too_large`. */
  write(path: string, text: string): Promise<{ sizeBytes: number }>
  /** Replaces `oldText`, which the file must contain exactly once. @throws AppError as `read` and `write`. */
  patch(path: string, oldText: string, newText: string): Promise<{ sizeBytes: number }>
  /** Returns at most 100 lines that contain `text`, ignoring case. */
  search(text: string, folder: string): Promise<{ lines: FoundLine[]; isComplete: boolean }>
  /** Moves a file without replacing another. @throws AppError `not_found`, `invalid`, `conflict` if `to` exists. */
  move(from: string, to: string): Promise<{ path: string }>
  /** Moves a file to the trash, which keeps it for 30 days. @throws AppError `not_found`, `invalid`. */
  discard(path: string): Promise<{ movedTo: string }>
}

/** `number` counts from 1; long lines are truncated. */
type FoundLine = { path: string; number: number; text: string }

const MAX_FOUND = 100
const MAX_LINE_CHARS = 300

export function createWorkspace(root: string, clock: Clock): AgentWorkspace {
  const workspace: AgentWorkspace = {
    async list(folder) {
      const top = await toRealPath(root, folder)
      return listBelow(await realpath(root), top)
    },
    async read(path) {
      return decodeUtf8(await readWhole(await toRealPath(root, path), path, MAX_FILE_BYTES), path)
    },
    async readPicture(path) {
      return readWhole(await toRealPath(root, path), path, MAX_PICTURE_BYTES)
    },
    async write(path, text) {
      const sizeBytes = Buffer.byteLength(text)
      if (sizeBytes > MAX_FILE_BYTES) throw new AppError('too_large', 'A file has at most 1 MB')
      const parts = toWritableParts(path)
      const name = parts.pop()
      if (name === undefined) throw new AppError('invalid', 'The path names no file')
      const folder = await makeFolders(root, parts)
      await requireReplaceable(join(folder, name), path)
      await writeAtomically(join(folder, name), text)
      return { sizeBytes }
    },
    async patch(path, oldText, newText) {
      const text = await workspace.read(path)
      const at = text.indexOf(oldText)
      if (at === -1) throw new AppError('invalid', 'The file does not contain the old text')
      if (text.indexOf(oldText, at + 1) !== -1) {
        throw new AppError(
          'invalid',
          'The file contains the old text more than once: include more of the text around it',
        )
      }
      return workspace.write(path, text.slice(0, at) + newText + text.slice(at + oldText.length))
    },
    async search(text, folder) {
      const { files, isComplete } = await workspace.list(folder)
      const lines: FoundLine[] = []
      for (const file of files) {
        // Binary and large files have no matching lines.
        const content = await workspace.read(file.path).catch(() => '')
        for (const line of findLines(file.path, content, text.toLowerCase())) {
          if (lines.length === MAX_FOUND) return { lines, isComplete: false }
          lines.push(line)
        }
      }
      return { lines, isComplete }
    },
    move: (from, to) => moveFile(root, from, to),
    discard: (path) => discardFile(root, path, clock.now()),
  }
  return workspace
}

function* findLines(path: string, content: string, lowerText: string): Generator<FoundLine> {
  for (const [index, line] of content.split('\n').entries()) {
    const at = line.toLowerCase().indexOf(lowerText)
    if (at === -1) continue
    const start = line.length <= MAX_LINE_CHARS ? 0 : Math.max(0, at - MAX_LINE_CHARS / 2)
    yield { path, number: index + 1, text: line.slice(start, start + MAX_LINE_CHARS) }
  }
}

async function readWhole(realTarget: string, path: string, maxBytes: number): Promise<Uint8Array> {
  // Without O_NONBLOCK, opening a pipe would block until a writer appears.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(realTarget, flags).catch((error: unknown) => {
    throw toPathError(error, path)
  })
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new AppError('invalid', `Not a regular file: ${path}`)
    if (stat.size > maxBytes) throw new AppError('too_large', `Larger than ${maxBytes / 1024 / 1024} MB: ${path}`)
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

function decodeUtf8(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new AppError('invalid', `Not a text file: ${path}`, {}, { cause: error })
  }
}

async function listBelow(realRoot: string, top: string) {
  const files: { path: string; sizeBytes: number }[] = []
  const folders = [top]
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    for (const entry of await readFolder(folder)) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && entry.name !== TRASH) folders.push(path)
      if (!entry.isFile()) continue
      if (files.length === MAX_LISTED) return { files, isComplete: false }
      files.push({ path: relative(realRoot, path), sizeBytes: (await lstat(path)).size })
    }
  }
  return { files, isComplete: true }
}

async function readFolder(folder: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.sort((a, b) => a.name.localeCompare(b.name))
  } catch (error) {
    throw toPathError(error, basename(folder))
  }
}

/** A workspace folder, so that the owner sees deleted files and they count as storage. */
const TRASH = '.trash'
const KEPT_MS = 30 * 86_400_000

/**
 * Moves a file within the workspace without replacing another one.
 * @throws AppError `not_found`, `invalid`, `conflict`.
 */
async function moveFile(root: string, from: string, to: string): Promise<{ path: string }> {
  const source = await toMovablePath(root, from)
  if (!(await lstat(source)).isFile()) throw new AppError('invalid', `Not a regular file: ${from}`)
  const parts = toWritableParts(to)
  const name = parts.pop()
  if (name === undefined) throw new AppError('invalid', 'The path names no file')
  const folder = await makeFolders(root, parts)
  const target = join(folder, name)
  await requireReplaceable(target, to)
  // Unlike a rename, a link fails if the target exists.
  await link(source, target).catch((error: unknown) => {
    if (systemCode(error) === 'EEXIST') throw new AppError('conflict', `There is a file already: ${to}`)
    throw toPathError(error, to)
  })
  await unlink(source)
  await syncFolder(folder)
  return { path: to }
}

/** Moves a file to the trash under a unique name. @throws AppError `not_found`, `invalid` for a file in the trash. */
async function discardFile(root: string, path: string, now: Date): Promise<{ movedTo: string }> {
  if (toPathParts(path)[0] === TRASH) throw new AppError('invalid', 'That lies in the trash already')
  const source = await toMovablePath(root, path)
  const movedTo = `${TRASH}/${now.toISOString().replace(/[:.]/g, '-')}-${basename(source)}`
  await moveFile(root, path, movedTo)
  // The retention period starts with the deletion, not with the last write.
  await utimes(join(root, movedTo), now, now)
  await emptyTrash(root, now)
  return { movedTo }
}

async function emptyTrash(root: string, now: Date): Promise<void> {
  const folder = await makeFolders(root, [TRASH])
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (!entry.isFile() || now.getTime() - (await lstat(path)).mtimeMs <= KEPT_MS) continue
    await rm(path, { force: true })
  }
}
