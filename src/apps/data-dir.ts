import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage, StartupError } from '../core/errors.ts'
import { randomText } from '../core/ids.ts'
import { readOrCreate } from '../core/text/read-or-create.ts'

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
  return readOrCreate(join(dataDir, 'instance.id'), 'DATA_DIR', () => randomText(12).toLowerCase())
}
