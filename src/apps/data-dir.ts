import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage, StartupError } from '../core/errors.ts'
import { randomText } from '../core/ids.ts'

/** Makes the data folder when it is not there. @throws StartupError when it cannot be written. */
export function prepareDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    accessSync(dataDir, constants.W_OK)
  } catch (error) {
    throw new StartupError(`DATA_DIR: ${dataDir} is not writable (${errorMessage(error)})`, { cause: error })
  }
}

/**
 * What tells this installation from others in the same container engine: made once, no secret.
 * @throws StartupError when it cannot be read or made.
 */
export function readOrCreateInstance(dataDir: string): string {
  const file = join(dataDir, 'instance.id')
  try {
    if (!existsSync(file)) writeFileSync(file, randomText(12).toLowerCase(), { mode: 0o600, flag: 'wx' })
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`DATA_DIR: ${file} cannot be used (${errorMessage(error)})`, { cause: error })
  }
}
