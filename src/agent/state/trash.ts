import { link, lstat, readdir, rm, unlink, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { syncFolder, systemCode } from './files.ts'
import { makeFolders, requireReplaceable, toMovablePath, toParts, toPathError, toWritableParts } from './paths.ts'

/** A folder of the workspace, so that its owner sees what lies there and it counts as stored. */
export const TRASH = '.trash'
const KEPT_MS = 30 * 86_400_000

/** Moves a file within the workspace, and never over another. @throws AppError `not_found`, `invalid`, `conflict`. */
export async function moveFile(root: string, from: string, to: string): Promise<{ path: string }> {
  const source = await toMovablePath(root, from)
  if (!(await lstat(source)).isFile()) throw new AppError('invalid', `Not a regular file: ${from}`)
  const parts = toWritableParts(to)
  const name = parts.pop()
  if (name === undefined) throw new AppError('invalid', 'The path names no file')
  const folder = await makeFolders(root, parts)
  const target = join(folder, name)
  await requireReplaceable(target, to)
  // A link cannot replace what has come there meanwhile, as a rename would.
  await link(source, target).catch((error: unknown) => {
    if (systemCode(error) === 'EEXIST') throw new AppError('conflict', `There is a file already: ${to}`)
    throw toPathError(error, to)
  })
  await unlink(source)
  await syncFolder(folder)
  return { path: to }
}

/** Moves a file into the trash under a name of its own. @throws AppError `not_found`, `invalid` for what lies there. */
export async function discardFile(root: string, path: string, now: Date): Promise<{ movedTo: string }> {
  if (toParts(path)[0] === TRASH) throw new AppError('invalid', 'That lies in the trash already')
  const source = await toMovablePath(root, path)
  const movedTo = `${TRASH}/${now.toISOString().replace(/[:.]/g, '-')}-${basename(source)}`
  await moveFile(root, path, movedTo)
  // The age in the trash counts from now, not from when it was written.
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
