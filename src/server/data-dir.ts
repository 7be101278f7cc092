import { join } from 'node:path'
import { randomText } from '../core/ids.ts'
import { readOrCreate } from '../core/text/read-or-create.ts'

/**
 * Returns the id that distinguishes this installation in a shared container engine; creates it at the first call. It is
 * not a secret.
 * @throws StartupError when it cannot be read or created.
 */
export function readOrCreateInstance(dataDir: string): string {
  return readOrCreate(join(dataDir, 'instance.id'), 'DATA_DIR', () => randomText(12).toLowerCase())
}
