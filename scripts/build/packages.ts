import { resolve } from 'node:path'
import { z } from 'zod'

const Manifest = z.object({ name: z.string(), version: z.string(), license: z.string().optional() })
/** An entry of `bun.lock`: `name@version`, its source, its dependencies and the checksum of its archive. */
const Locked = z.tuple([z.string(), z.string(), z.unknown(), z.string()])
const Lock = z.object({ packages: z.record(z.string(), z.unknown()) })

/** A package from npm; `integrity` is the checksum of its archive, `sha512-…`, or null when `bun.lock` has none. */
export type Package = z.infer<typeof Manifest> & { integrity: string | null }

/** Returns the paths of the source files of a build. */
export function readInputs(build: Bun.BuildOutput): string[] {
  if (!build.metafile) throw new Error('The bundler was not asked for its metafile')
  return Object.keys(build.metafile.inputs).map((path) => resolve(path))
}

/** Returns the packages that contain `inputs`, each name and version once. `lockFile` is the text of `bun.lock`. */
export async function listPackages(inputs: readonly string[], lockFile: string): Promise<Package[]> {
  const integrities = await readIntegrities(lockFile)
  const folders = new Set(inputs.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/.][^/]*(?=\/)/.exec(path) ?? []))
  const manifests = await Promise.all(
    [...folders].map(async (folder) => Manifest.parse(await Bun.file(`${folder}/package.json`).json())),
  )
  const packages = new Map(manifests.map((manifest) => [`${manifest.name}@${manifest.version}`, manifest]))
  return [...packages]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, manifest]) => ({ ...manifest, integrity: integrities.get(name) ?? null }))
}

async function readIntegrities(lockFile: string): Promise<Map<string, string>> {
  const lock = Lock.parse(Bun.JSONC.parse(await Bun.file(lockFile).text()))
  return new Map(
    Object.values(lock.packages).flatMap((entry) => {
      const { success, data } = Locked.safeParse(entry)
      return success ? [[data[0], data[3]] as const] : []
    }),
  )
}
