import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Version } from '@cyclonedx/cyclonedx-library/Spec'
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation'
import { z } from 'zod'
import { readTarget } from '../../../scripts/build/executable-format.ts'
import { ownTarget, RELEASED, TARGETS, type Target, toTarget } from '../../../scripts/build/targets.ts'
import { tempFolder } from '../../harness/temp-folder.ts'

const PATIENCE_MS = 600_000
const ROOT = join(import.meta.dir, '../..', '..')

const Bill = z.object({
  components: z.array(
    z.object({ type: z.string(), name: z.string(), version: z.string(), hashes: z.array(z.unknown()).optional() }),
  ),
})

/** Other targets download their Bun runtime, so only `ALL_TARGETS=1` (`bun run stress release`) builds them. */
const targets: readonly Target[] = process.env.ALL_TARGETS === '1' ? RELEASED : [ownTarget()]

async function build(cwd: string, ...args: string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, join(ROOT, 'scripts/build.ts'), ...args], {
    cwd,
    env: { ...process.env, TZ: 'Asia/Tokyo' },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  expect(await child.exited).toBe(0)
}

test(
  'bun run build --target: a release has an executable per target with its own SQLite, checksums, and the same bytes elsewhere',
  async () => {
    using folder = tempFolder()
    const first = folder.file('first')
    await build(folder.path, '--outdir', first, ...targets.flatMap((target) => ['--target', target]))
    const files = targets.map((target) => `stead-${target}`)
    expect(readdirSync(first).sort()).toEqual(['SHA256SUMS', 'install.sh', ...files, 'stead.cdx.json'].sort())
    for (const target of targets) {
      const bytes = readFileSync(join(first, `stead-${target}`))
      expect(readTarget(bytes)).toBe(target)
      for (const { sqlite } of Object.values(TARGETS)) {
        const native = readFileSync(join(ROOT, `node_modules/better-sqlite3/prebuilds/${sqlite}.node`))
        expect([sqlite, bytes.includes(native)]).toEqual([sqlite, sqlite === TARGETS[target].sqlite])
      }
      expect(bytes.includes(ROOT)).toBe(false)
    }
    const check = Bun.spawnSync(['sha256sum', '--check', '--strict', 'SHA256SUMS'], { cwd: first })
    expect(check.exitCode).toBe(0)
    expect(check.stdout.toString().match(/: OK$/gm)).toHaveLength(targets.length)

    const second = folder.file('second')
    await build(ROOT, '--outdir', second)
    expect(readdirSync(second)).toEqual(['stead'])
    const own = readFileSync(join(first, `stead-${ownTarget()}`))
    expect(own.equals(readFileSync(join(second, 'stead')))).toBe(true)

    const bill = readFileSync(join(first, 'stead.cdx.json'), 'utf8')
    expect(await new JsonStrictValidator(Version.v1dot6).validate(bill)).toBeNull()
    const { components } = Bill.parse(JSON.parse(bill))
    const versions = new Map(components.map(({ name, version }) => [name, version]))
    for (const name of ['hono', 'better-sqlite3', 'react', 'zod'])
      expect(versions.get(name)).toBe(installedVersion(name))
    expect(versions.get('bun')).toBe(Bun.version)
    expect(components.some(({ name }) => name === 'typescript')).toBe(false)
    expect(components.filter(({ type, hashes }) => type === 'library' && !hashes)).toEqual([])
  },
  PATIENCE_MS,
)

test('bun run build writes no source maps', () => {
  const folders = ['dist', 'web/dist'].map((name) => join(ROOT, name)).filter(existsSync)
  expect(folders.flatMap((folder) => [...new Bun.Glob('**/*.map').scanSync(folder)])).toEqual([])
})

test("toTarget accepts Bun's names, and throws for others", () => {
  expect(toTarget('bun-linux-arm64')).toBe('linux-arm64')
  expect(toTarget('darwin-arm64')).toBe('darwin-arm64')
  expect(() => toTarget('windows-x64')).toThrow('--target windows-x64: there are linux-x64,')
})

test.each([
  ['a script', '#!/bin/sh\n', 'neither of ELF nor of Mach-O'],
  ['an ELF file without a loader', `\x7fELF\x02\x01${'\0'.repeat(58)}`, 'names no loader'],
  ['an unsigned Mach-O file', `\xcf\xfa\xed\xfe\x0c\0\0\x01${'\0'.repeat(24)}`, 'is not signed'],
  ['a Mach-O file of another machine', `\xcf\xfa\xed\xfe\x0c\0\0\x02${'\0'.repeat(24)}`, 'another machine'],
])('readTarget throws when given %s', (_what, content, reason) => {
  expect(() => readTarget(Buffer.from(content, 'latin1'))).toThrow(reason)
})

function installedVersion(name: string): string {
  const manifest = JSON.parse(readFileSync(join(ROOT, `node_modules/${name}/package.json`), 'utf8'))
  return z.object({ version: z.string() }).parse(manifest).version
}
