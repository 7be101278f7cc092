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

/** Files that came by a channel, kept where the tools of the agent find them. */
export type SavedFiles = {
  /** What the model is told of them. A file that is here already is not fetched again. @throws what the way to the service answers. */
  save(message: Waiting): Promise<string[]>
}

export function createSavedFiles(workspace: string, service: Service): SavedFiles {
  const saveOne = async (message: Waiting, file: SentFile, index: number): Promise<string> => {
    const name = `${message.id}-${index + 1}-${toSafeName(file.name)}`
    const folder = await makeFolders(await realpath(workspace), [FOLDER])
    const path = join(folder, name)
    if (!(await exists(path))) await writeAtomically(path, await service.fetchFile(file))
    return `(A file came with this message; it is in your workspace: ${FOLDER}/${name})`
  }
  return {
    async save(message) {
      const notes: string[] = []
      for (const [index, file] of message.files.entries()) {
        notes.push(
          await saveOne(message, file, index).catch((error: unknown) => {
            if (!(error instanceof AppError)) throw error
            return `(A file came with this message and could not be taken, ${toSafeName(file.name)}: ${error.message})`
          }),
        )
      }
      return notes
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
