import { existsSync } from 'node:fs'
import { open, readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../../../../core/errors.ts'
import { steadDriver } from '../../contract/agent-image.ts'

/** Where the program stands in the image. */
export const EXECUTABLE = '/usr/local/bin/stead'
export const [uid = 0, gid = 0] = steadDriver.user.split(':').map(Number)

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
/** Loaded by name at run time by older C libraries, so that no list of needed libraries has them. */
const RESOLVERS = ['libresolv.so.2', 'libnss_dns.so.2', 'libnss_files.so.2']
const BUSYBOXES = ['/bin/busybox', '/usr/bin/busybox']
/** The loader that an executable of Linux names near its beginning; that of musl is its C library as well. */
const LOADER = /\/[\w./-]*\/ld-(?:linux|musl)[\w.-]+/
const HEAD_BYTES = 4096

/** One entry of the image, under its path in there. */
export type ImageFile = { name: string; mode?: number } & ({ content: string | Buffer } | { linkname: string })

/**
 * All that `executable` needs to run as an agent: itself, the libraries of this machine that it is linked against,
 * certificates, and the names of two users. `withShell` adds this machine's static busybox.
 * @throws AppError `invalid` for what is no executable of Linux, and without a static busybox where one is asked for.
 */
export async function collectImageFiles(executable: string, withShell: boolean): Promise<ImageFile[]> {
  const libraries = await listLibraries(executable)
  return [
    { name: EXECUTABLE, content: await readFile(executable), mode: 0o755 },
    ...(await Promise.all(libraries.map(toFile))),
    ...(existsSync(CERTIFICATES) ? [await toFile(CERTIFICATES)] : []),
    ...(withShell ? await collectShell() : []),
    {
      name: '/etc/passwd',
      content: `root:x:0:0::/:/nowhere\nagent:x:${uid}:${gid}::${steadDriver.stateDir}:/nowhere\n`,
    },
    { name: '/etc/group', content: `root:x:0:\nagent:x:${gid}:\n` },
    { name: '/etc/nsswitch.conf', content: 'hosts: files dns\n' },
  ]
}

/** A shell, and what it calls: all of them are one program. */
async function collectShell(): Promise<ImageFile[]> {
  const path = BUSYBOXES.find(existsSync)
  if (path === undefined)
    throw new AppError('invalid', '--shell packs a static busybox (busybox-static), and there is none here')
  const content = await readFile(path)
  // Linked against libraries that the image does not have, it would not start.
  if (content.includes('/ld-linux') || content.includes('/ld-musl'))
    throw new AppError('invalid', `${path} is not static`)
  const names = (await run(path, '--list')).split('\n').filter((name) => name !== '' && name !== 'busybox')
  const links = names.map((name) => ({ name: `/bin/${name}`, linkname: 'busybox' }))
  return [{ name: '/bin/busybox', content, mode: 0o755 }, ...links]
}

/** By the paths under which the executable looks for them; its loader tells them, on machines without `ldd` as well. */
async function listLibraries(executable: string): Promise<string[]> {
  const loader = await readLoader(executable)
  const output = await run(loader, '--list', executable)
  const needed = [...output.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path)
  const folders = [...new Set(needed.map((path) => dirname(path)))]
  const resolvers = RESOLVERS.flatMap((name) => folders.map((folder) => join(folder, name)).find(existsSync) ?? [])
  return [...new Set([loader, ...needed, ...resolvers])]
}

async function readLoader(executable: string): Promise<string> {
  const file = await open(executable)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const [loader] = LOADER.exec(buffer.toString('latin1', 0, bytesRead)) ?? []
    if (loader === undefined || !existsSync(loader))
      throw new AppError('invalid', `${executable} does not run on this machine: agents in containers run on Linux`)
    return loader
  } finally {
    await file.close()
  }
}

async function toFile(path: string): Promise<ImageFile> {
  return { name: path, content: await readFile(await realpath(path)), mode: path.includes('.so') ? 0o755 : 0o644 }
}

async function run(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  const output = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`)
  return output
}
