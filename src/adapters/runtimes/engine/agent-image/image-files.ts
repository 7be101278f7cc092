import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { AppError } from '../../../../core/errors.ts'
import { steadDriver } from '../../contract/agent-image.ts'
import { collectPython, PYTHON } from './image-python.ts'
import { type ImageFile, listLibraries, run, toFile } from './machine-files.ts'

/** Where the program stands in the image. */
export const EXECUTABLE = '/usr/local/bin/stead'
export const [uid = 0, gid = 0] = steadDriver.user.split(':').map(Number)

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
const BUSYBOXES = ['/bin/busybox', '/usr/bin/busybox']

/** What of this machine is packed for agents that may run commands. */
export type Packs = { shell: boolean; python: boolean }

/**
 * All that `executable` needs to run as an agent: itself, the libraries of this machine that it is linked against,
 * certificates, and the names of two users. `shell` adds this machine's static busybox, `python` its Python.
 * @throws AppError `invalid` for what is no executable of Linux, and for what is to be packed and is not there.
 */
export async function collectImageFiles(executable: string, { shell, python }: Packs): Promise<ImageFile[]> {
  const libraries = await listLibraries(executable)
  const files = [
    { name: EXECUTABLE, content: await readFile(executable), mode: 0o755 },
    ...(await Promise.all(libraries.map(toFile))),
    ...(existsSync(CERTIFICATES) ? [await toFile(CERTIFICATES)] : []),
    ...(shell ? await collectShell() : []),
    ...(python ? await collectPython() : []),
    {
      name: '/etc/passwd',
      content: `root:x:0:0::/:/nowhere\nagent:x:${uid}:${gid}::${steadDriver.stateDir}:/nowhere\n`,
    },
    { name: '/etc/group', content: `root:x:0:\nagent:x:${gid}:\n` },
    { name: '/etc/nsswitch.conf', content: 'hosts: files dns\n' },
  ]
  // The executable and Python share libraries.
  return [...new Map(files.map((file) => [file.name, file])).values()]
}

/** Changes with what is packed: other packs, or other versions of them. */
export async function digestPacks({ shell, python }: Packs): Promise<string> {
  const programs = [...(shell ? BUSYBOXES : []), ...(python ? [PYTHON] : [])]
  const hash = createHash('sha256')
  for (const program of programs) if (existsSync(program)) hash.update(program).update(await readFile(program))
  return hash.digest('hex')
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
