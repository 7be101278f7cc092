import { access, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { writeAtomically } from '../state/files.ts'
import { makeFolders } from '../state/paths.ts'
import type { SentFile, Service } from './channel.ts'
import type { Waiting } from './inbox.ts'

/** Below the workspace. */
const FOLDER = 'inbox'
const MAX_NAME_CHARS = 80
const PICTURE = /\.(png|jpe?g|gif|webp)$/i
/** What one message may show a model. */
const MAX_IMAGES = 8

/** What the model is told of files, and the paths of the pictures that it is shown. */
export type Saved = { notes: string[]; images: string[] }

/** Files that came by a channel, kept where the tools of the agent find them. */
export type SavedFiles = {
  /** A file that is here already is not fetched again. @throws what the disk says. */
  save(message: Waiting): Promise<Saved>
}

export function createSavedFiles(workspace: string, service: Service): SavedFiles {
  /** The path in the workspace. */
  const saveOne = async (message: Waiting, file: SentFile, index: number): Promise<string> => {
    const name = `${message.id}-${index + 1}-${toSafeName(file.name)}`
    const folder = await makeFolders(await realpath(workspace), [FOLDER])
    const path = join(folder, name)
    if (!(await exists(path))) await writeAtomically(path, await service.fetchFile(file))
    return `${FOLDER}/${name}`
  }
  return {
    async save(message) {
      const saved: Saved = { notes: [], images: [] }
      for (const [index, file] of message.files.entries()) {
        try {
          const path = await saveOne(message, file, index)
          saved.notes.push(`(A file came with this message; it is in your workspace: ${path})`)
          if (PICTURE.test(path) && saved.images.length < MAX_IMAGES) saved.images.push(path)
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          const name = toSafeName(file.name)
          saved.notes.push(`(A file came with this message and could not be taken, ${name}: ${error.message})`)
        }
      }
      return saved
    },
  }
}

/** A name of one part, without what systems or models might misread. */
function toSafeName(name: string): string {
  const safe = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^\.+/, '')
  return safe.slice(-MAX_NAME_CHARS) || 'file'
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
