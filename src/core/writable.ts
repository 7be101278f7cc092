import { accessSync, constants, mkdirSync } from 'node:fs'
import { errorMessage, StartupError } from './errors.ts'

/**
 * Creates `folder` for its owner alone when it is missing.
 * @throws StartupError one line that begins with `name`, the setting or option that names the folder.
 */
export function requireWritableFolder(name: string, folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartupError(`${name}: ${folder} cannot be written (${errorMessage(error)})`, { cause: error })
  }
}
