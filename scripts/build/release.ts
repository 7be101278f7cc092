import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { buildWeb } from '../build-web.ts'
import { writeBillOfMaterials } from './bill-of-materials.ts'
import { buildExecutable } from './executable.ts'
import { listPackages } from './packages.ts'
import type { Target } from './targets.ts'

const root = join(import.meta.dir, '../..')

/**
 * Builds into `folder` what is published: `stead-<target>` for each target, `SHA256SUMS` of them, the script
 * that installs one, and what they are made of as `stead.cdx.json`. Other files there stay as they are. `onBuilt` hears of each executable.
 * @throws as `buildExecutable` does.
 */
export async function buildRelease(
  folder: string,
  targets: readonly Target[],
  onBuilt: (file: string) => Promise<void>,
): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'stead-build-'))
  try {
    const web = join(work, 'dist')
    const inputs = await buildWeb(web)
    const sums: string[] = []
    for (const target of [...targets].sort()) {
      const file = join(folder, `stead-${target}`)
      inputs.push(...(await buildExecutable(file, web, target)))
      sums.push(`${Bun.CryptoHasher.hash('sha256', await Bun.file(file).bytes(), 'hex')}  stead-${target}\n`)
      await onBuilt(file)
    }
    await copyFile(join(root, 'scripts/install.sh'), join(folder, 'install.sh'))
    await Bun.write(join(folder, 'SHA256SUMS'), sums.join(''))
    await Bun.write(join(folder, 'stead.cdx.json'), await describePackages(inputs))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function describePackages(inputs: readonly string[]): Promise<string> {
  const packages = await listPackages(inputs, join(root, 'bun.lock'))
  const { name, version, license } = manifest
  return writeBillOfMaterials({ name, version, license, integrity: null }, packages, Bun.version)
}
