import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type Docker from 'dockerode'
import { type Pack, pack } from 'tar-stream'

const root = join(import.meta.dir, '..', '..', '..')
const BASE = 'stead-test-base:1'
const BUSYBOX = '/bin/busybox'
/** Libraries that SQLite's native module needs in addition to a minimal Debian. */
const LIBRARIES = ['libstdc++.so.6', 'libgcc_s.so.1', 'libresolv.so.2', 'libnss_dns.so.2', 'libnss_files.so.2']
const FOLDERS = ['bin', 'etc', 'lib', 'lib64', 'usr', 'usr/local', 'usr/local/bin', 'proc', 'sys', 'dev']

/** Returns the executable under test or that of this checkout; null if neither exists. */
export function findExecutable(): string | null {
  const built = process.env.STEAD_UNDER_TEST ?? join(root, 'dist/stead')
  return existsSync(built) ? built : null
}

/** Imports a base image with busybox and the libraries of the executable. @returns its name. */
export async function importBase(docker: Docker, executable: string): Promise<string> {
  await text(await docker.importImage(Readable.from(packBase(executable)), { repo: 'stead-test-base', tag: '1' }))
  return BASE
}

/**
 * Builds `--target prebuilt` of the Dockerfile without pulling, on a base of busybox and this machine's libraries.
 * @returns its name.
 */
export async function buildPlatformImage(docker: Docker, executable: string): Promise<string> {
  await importBase(docker, executable)
  const tag = 'stead-test-platform:under-test'
  const context = pack()
  const filling = packContext(context, executable)
  const buildargs = { BASE, EXECUTABLE: 'stead' }
  const options = { t: tag, target: 'prebuilt', buildargs, networkmode: 'none', rm: true, forcerm: true }
  const output = await text(await docker.buildImage(Readable.from(context), options))
  await filling
  if (!output.includes('Successfully tagged')) throw new Error(`The image cannot be built: ${output.slice(-2000)}`)
  return tag
}

async function packContext(context: Pack, executable: string): Promise<void> {
  context.entry({ name: 'Dockerfile' }, readFileSync(join(root, 'Dockerfile')))
  const { size } = statSync(executable)
  await pipeline(createReadStream(executable), context.entry({ name: 'stead', size, mode: 0o755 }))
  context.finalize()
}

function packBase(executable: string): Pack {
  const archive = pack()
  const libraries = listLibraries(executable)
  for (const name of new Set([...FOLDERS, ...libraries.map((path) => dirname(path).slice(1))])) {
    archive.entry({ name, type: 'directory', mode: 0o755 })
  }
  archive.entry({ name: 'tmp', type: 'directory', mode: 0o1777 })
  archive.entry({ name: 'bin/busybox', mode: 0o755 }, readFileSync(BUSYBOX))
  for (const name of ['sh', 'mkdir', 'chown', 'echo', 'id', 'touch', 'cat']) {
    archive.entry({ name: `bin/${name}`, type: 'symlink', linkname: 'busybox' })
  }
  for (const path of libraries) {
    archive.entry({ name: path.slice(1), mode: 0o755 }, readFileSync(path))
  }
  archive.entry({ name: 'etc/passwd' }, 'root:x:0:0::/:/bin/sh\n')
  archive.entry({ name: 'etc/group' }, 'root:x:0:\n')
  archive.entry({ name: 'etc/nsswitch.conf' }, 'hosts: files dns\n')
  archive.finalize()
  return archive
}

function listLibraries(executable: string): string[] {
  const output = Bun.spawnSync(['ldd', executable]).stdout.toString()
  const needed = [...output.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path)
  const known = Bun.spawnSync(['ldconfig', '-p']).stdout.toString()
  const others = LIBRARIES.flatMap(
    (name) => known.match(new RegExp(`^\\s+${RegExp.escape(name)} .*=> (\\S+)$`, 'm'))?.[1] ?? [],
  )
  return [...new Set([...needed, ...others.filter((path) => !needed.some((one) => basename(one) === basename(path)))])]
}
