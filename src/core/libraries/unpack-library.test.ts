import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackLibrary } from './unpack-library.ts'

test('unpackLibrary: a compressed module with what it needs of the system, loaded once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stead-unpack-'))
  const file = join(folder, 'library.js.zst')
  try {
    writeFileSync(file, Bun.zstdCompressSync(`import { sep } from 'node:path'\nexport const parts = { sep }\n`))
    const [first, second] = await Promise.all([unpackLibrary(file), unpackLibrary(file)])
    expect(first.parts).toEqual({ sep: '/' })
    expect(second.parts).toBe(first.parts)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
