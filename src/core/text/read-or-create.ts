import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { errorMessage, StartupError } from '../errors.ts'

/**
 * Reads `file`, or creates it with mode 0600. `setting` determines the location.
 * @throws StartupError that names it when the file can neither be read nor created.
 */
export function readOrCreate(file: string, setting: string, create: () => string): string {
  try {
    if (!existsSync(file)) writeFileSync(file, create(), { mode: 0o600, flag: 'wx' })
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`${setting}: ${file} cannot be used (${errorMessage(error)})`, { cause: error })
  }
}
