import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates an empty folder that is deleted with the block: `using folder = tempFolder()`. */
export function tempFolder(): Disposable & { path: string; file(name: string): string } {
  const path = mkdtempSync(join(tmpdir(), 'stead-test-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
