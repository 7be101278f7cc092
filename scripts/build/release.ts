import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { buildWeb } from '../build-web.ts'
import { writeBillOfMaterials } from './bill-of-materials.ts'
import { buildExecutable } from './executable.ts'
import { listPackages } from './packages.ts'
import type { Target } from './targets.ts'

const root = join(import.meta.dir, '../..')

/** `downloadUrl` is where the files will be published; null when it is not known yet. */
type Release = { folder: string; targets: readonly Target[]; downloadUrl: string | null }

/**
 * Builds a release into `folder`: `stead-<target>` for each target, `SHA256SUMS`, the install script and the software
 * bill of materials, `stead.cdx.json`. Other files stay as they are. Calls `onBuilt` after each executable.
 * @throws Error as `buildExecutable` does.
 */
export async function buildRelease(
  { folder, targets, downloadUrl }: Release,
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
    await writeInstaller(join(folder, 'install.sh'), downloadUrl)
    await Bun.write(join(folder, 'SHA256SUMS'), sums.join(''))
    await Bun.write(join(folder, 'stead.cdx.json'), await describePackages(inputs))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

const NO_DEFAULT_URL = "default_url=''\n"

/** Writes the install script with `downloadUrl` as its default. @throws Error for an invalid URL. */
export async function writeInstaller(file: string, downloadUrl: string | null): Promise<void> {
  const script = await Bun.file(join(root, 'scripts/install.sh')).text()
  if (!script.includes(NO_DEFAULT_URL)) throw new Error(`scripts/install.sh: there is no line ${NO_DEFAULT_URL}`)
  if (downloadUrl !== null && !/^https?:\/\/[\w.:@%~/-]+$/.test(downloadUrl))
    throw new Error(`--download-url ${downloadUrl}: must be an http or https address`)
  const line = `default_url='${(downloadUrl ?? '').replace(/\/+$/, '')}'\n`
  await Bun.write(file, script.replace(NO_DEFAULT_URL, line))
  await chmod(file, 0o755)
}

async function describePackages(inputs: readonly string[]): Promise<string> {
  const packages = await listPackages(inputs, join(root, 'bun.lock'))
  const { name, version, license } = manifest
  return writeBillOfMaterials({ name, version, license, integrity: null }, packages, Bun.version)
}
