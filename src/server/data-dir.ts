import { join } from 'node:path'
import { randomText } from '../core/ids.ts'
import { readOrCreate } from '../core/text/read-or-create.ts'

/**
 * What tells this installation from others in the same container engine: made once, no secret.
 * @throws StartupError when it cannot be read or made.
 */
export function readOrCreateInstance(dataDir: string): string {
  return readOrCreate(join(dataDir, 'instance.id'), 'DATA_DIR', () => randomText(12).toLowerCase())
}
