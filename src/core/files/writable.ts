import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { errorMessage, StartupError } from '../errors.ts'
import { giveToOwnerOf } from './ownership.ts'

/**
 * Creates `folder` with mode 0700 when missing, owned by the owner of `dataDir` if given.
 * @throws StartupError that starts with `name`, the setting of the folder.
 */
export function requireWritableFolder(name: string, folder: string, dataDir?: string): void {
  try {
    const isNew = !existsSync(folder)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (isNew && dataDir !== undefined) giveToOwnerOf(dataDir, folder)
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartupError(`${name}: ${folder} cannot be written (${errorMessage(error)})`, { cause: error })
  }
}
