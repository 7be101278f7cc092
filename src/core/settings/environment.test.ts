import { expect, test } from 'bun:test'
import { join } from 'node:path'

const root = join(import.meta.dir, '..', '..', '..')

test('the settings page describes every setting; `bun run settings` writes it', () => {
  const check = Bun.spawnSync([process.execPath, join(root, 'scripts/settings.ts'), '--check'])
  expect([check.stderr.toString(), check.exitCode]).toEqual(['', 0])
})
