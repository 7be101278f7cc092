import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readdir, readFile, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { type Pack, pack } from 'tar-stream'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { VERSION } from '../../../core/version.ts'
import { steadDriver } from '../contract/agent-image.ts'
import { type Engine, hasStatus, orNull, toEngineError } from './engine.ts'
import { readEventLines } from './events.ts'

const DIGEST_LABEL = 'stead.contentDigest'
/** Label with the packs of an image, which the next version's image gets too. */
const PACKS_LABEL = 'stead.packs'
const NO_PACKS = 'none'

/** Contents of an image; an image with the same `digest` is not built again. */
export type ImageSource = { digest: string; packs: Packs; collect: () => Promise<ImageFile[]> }

/**
 * Builds the built-in agent's image `reference` in an engine, without a registry. The previous image is removed unless
 * a container uses it.
 * @returns its size in bytes, null when it existed.
 * @throws AppError as `toEngineError` when the engine refuses, `internal` {code: 'ENGINE_UNAVAILABLE'}.
 */
export async function makeAgentImage(engine: Engine, reference: string, source: ImageSource): Promise<number | null> {
  const inspect = () => engine.ask((docker) => orNull(docker.getImage(reference).inspect()))
  const existing = await inspect()
  if (existing?.Config.Labels?.[DIGEST_LABEL] === source.digest) return null
  await importImage(engine, reference, source, await source.collect())
  const made = await inspect()
  if (!made) throw new AppError('internal', `The engine has lost the image ${reference}`)
  if (existing && existing.RepoTags.length === 1) await removeUnused(engine, existing.Id)
  return made.Size
}

/** Returns the packs of a built image, null for an unknown image. */
export async function findPacks(engine: Engine, reference: string): Promise<Packs | null> {
  const image = await engine.ask((docker) => orNull(docker.getImage(reference).inspect()))
  if (!image) return null
  const named = image.Config.Labels?.[PACKS_LABEL]?.split(',') ?? []
  return { shell: named.includes('shell'), python: named.includes('python') }
}

/** Returns the names of the packs, for options and the label. */
export function listPacks(packs: Packs): ('shell' | 'python')[] {
  return (['shell', 'python'] as const).filter((name) => packs[name])
}

async function importImage(engine: Engine, reference: string, source: ImageSource, files: ImageFile[]): Promise<void> {
  const archive = pack()
  const at = reference.lastIndexOf(':')
  const name = { repo: reference.slice(0, at), tag: reference.slice(at + 1) }
  const importing = engine.change((docker: Docker) =>
    docker.importImage(Readable.from(archive), { ...name, changes: toChanges(source) }),
  )
  fill(archive, files)
  const stream = await importing.catch((error) => {
    throw toEngineError(error)
  })
  for await (const line of readEventLines(stream)) {
    const { error } = z.object({ error: z.string().optional() }).parse(JSON.parse(line))
    if (error) throw new AppError('internal', `The engine does not take the image: ${error}`)
  }
}

function fill(archive: Pack, files: ImageFile[]): void {
  const folders = new Set(files.flatMap(({ name }) => parentsOf(name)))
  for (const name of [...folders].sort()) archive.entry({ name: name.slice(1), type: 'directory', mode: 0o755 })
  archive.entry({ name: 'tmp', type: 'directory', mode: 0o1777 })
  archive.entry({ name: steadDriver.stateDir.slice(1), type: 'directory', mode: 0o700, uid, gid })
  for (const file of files) {
    const name = file.name.slice(1)
    if ('linkname' in file) archive.entry({ name, type: 'symlink', linkname: file.linkname })
    else archive.entry({ name, mode: file.mode ?? 0o644 }, file.content)
  }
  archive.finalize()
}

/** Returns the folders above a path: `/a/b/c` has `/a` and `/a/b`. */
function parentsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === '/' ? [] : [...parentsOf(parent), parent]
}

/**
 * Returns Dockerfile instructions for the import. Some storage drivers would copy the whole image for each step of
 * `docker build`.
 */
function toChanges({ digest, packs }: ImageSource): string[] {
  return [
    `ENTRYPOINT ["${EXECUTABLE}", "agent"]`,
    `USER ${steadDriver.user}`,
    `WORKDIR ${steadDriver.stateDir}`,
    `VOLUME ${steadDriver.stateDir}`,
    `EXPOSE ${steadDriver.port}`,
    `ENV HOST=0.0.0.0 PORT=${steadDriver.port} AGENT_DIR=${steadDriver.stateDir} HOME=${steadDriver.stateDir}`,
    // For use without a platform, which would check the health itself.
    `HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=5 CMD ["${EXECUTABLE}", "agent", "--check"]`,
    `LABEL stead.runtime=stead stead.runtimeVersion=${VERSION} ${DIGEST_LABEL}=${digest} ${PACKS_LABEL}=${listPacks(packs).join(',') || NO_PACKS}`,
  ]
}

/** Removes the previous image, unless a container uses it. */
async function removeUnused(engine: Engine, id: string): Promise<void> {
  try {
    await engine.change((docker) => docker.getImage(id).remove())
  } catch (error) {
    if (!hasStatus(error, 404, 409)) throw error
  }
}

/** Path of the program in the image. */
export const EXECUTABLE = '/usr/local/bin/stead'
const [uid = 0, gid = 0] = steadDriver.user.split(':').map(Number)

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
const BUSYBOXES = ['/bin/busybox', '/usr/bin/busybox']

/** Optional programs packed for agents that may run commands. */
export type Packs = { shell: boolean; python: boolean }

/**
 * Collects the files of an image: `executable`, its shared libraries, certificates and two users. `shell` adds this
 * machine's static busybox, `python` its Python.
 * @throws AppError `invalid` for an executable that is not for Linux, or a missing program.
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

/** Returns a hash that changes with the packed programs. */
export async function digestPacks({ shell, python }: Packs): Promise<string> {
  const programs = [...(shell ? BUSYBOXES : []), ...(python ? [PYTHON] : [])]
  const hash = createHash('sha256')
  for (const program of programs) if (existsSync(program)) hash.update(program).update(await readFile(program))
  return hash.digest('hex')
}

/** Collects busybox and its command links. */
async function collectShell(): Promise<ImageFile[]> {
  const path = BUSYBOXES.find(existsSync)
  if (path === undefined)
    throw new AppError('invalid', '--shell packs a static busybox (busybox-static), and there is none here')
  const content = await readFile(path)
  // A dynamically linked busybox would lack its libraries in the image.
  if (content.includes('/ld-linux') || content.includes('/ld-musl'))
    throw new AppError('invalid', `${path} is not static`)
  const names = (await runCommand(path, '--list')).split('\n').filter((name) => name !== '' && name !== 'busybox')
  const links = names.map((name) => ({ name: `/bin/${name}`, linkname: 'busybox' }))
  return [{ name: '/bin/busybox', content, mode: 0o755 }, ...links]
}

/** The distribution's Python, whose libraries are on the loader's standard path. */
export const PYTHON = '/usr/bin/python3'
/** Parts of the standard library to leave out: GUI, tests, installers and third-party packages. */
const LEFT_OUT =
  /^(__pycache__|test|tests|idlelib|tkinter|turtledemo|ensurepip|lib2to3|config-.*|(site|dist)-packages)$/

/**
 * Collects this machine's Python with its standard library, without installed packages.
 * @throws AppError `invalid` when it is missing.
 */
export async function collectPython(): Promise<ImageFile[]> {
  if (!existsSync(PYTHON)) throw new AppError('invalid', `--python packs ${PYTHON}, and there is none here`)
  const program = await realpath(PYTHON)
  const library = (await runCommand(PYTHON, '-I', '-c', 'import sysconfig; print(sysconfig.get_path("stdlib"))')).trim()
  const modules = await listModules(library)
  const libraries = await listLibraries(
    program,
    modules.filter((path) => path.endsWith('.so')),
  )
  return [
    { name: program, content: await readFile(program), mode: 0o755 },
    ...(program === PYTHON ? [] : [{ name: PYTHON, linkname: basename(program) }]),
    ...(await Promise.all([...libraries, ...modules].map(toFile))),
  ]
}

async function listModules(folder: string): Promise<string[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !LEFT_OUT.test(name))
  const found = await Promise.all(
    entries.map((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return listModules(path)
      // A link may lead to a package that is not installed.
      return existsSync(path) ? [path] : []
    }),
  )
  return found.flat()
}

/** Loaded by name at run time by older C libraries, so the loader does not list them. */
const RESOLVERS = ['libresolv.so.2', 'libnss_dns.so.2', 'libnss_files.so.2']
/** The loader named near the beginning of a Linux executable; musl's loader is also its C library. */
const LOADER = /\/[\w./-]*\/ld-(?:linux|musl)[\w.-]+/
const HEAD_BYTES = 4096

/** An entry of the image, by its path. */
export type ImageFile = { name: string; mode?: number } & ({ content: string | Buffer } | { linkname: string })

/**
 * Lists the libraries that `executable` and `loaded` need, by the paths where they are searched. Asks the loader
 * itself, because some machines have no `ldd`.
 * @throws AppError `invalid` for an executable that is not for Linux.
 */
export async function listLibraries(executable: string, loaded: readonly string[] = []): Promise<string[]> {
  const loader = await readLoader(executable)
  const outputs = await Promise.all([executable, ...loaded].map((file) => runCommand(loader, '--list', file)))
  const needed = outputs.join('\n').split('\n').flatMap(readLibrary)
  const folders = [...new Set(needed.map((path) => dirname(path)))]
  const resolvers = RESOLVERS.flatMap((name) => folders.map((folder) => join(folder, name)).find(existsSync) ?? [])
  return [...new Set([loader, ...needed, ...resolvers])]
}

/** Parses a line of the loader's list: `libc.so.6 => /lib/libc.so.6 (0x7f…)`, or only the path. */
function readLibrary(line: string): string[] {
  const found = line.trim().split(' => ').at(-1) ?? ''
  const end = found.indexOf(' (0x')
  return found.startsWith('/') && end !== -1 ? [found.slice(0, end)] : []
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

/** Reads a file under its own path, following links. */
export async function toFile(path: string): Promise<ImageFile> {
  return { name: path, content: await readFile(await realpath(path)), mode: path.includes('.so') ? 0o755 : 0o644 }
}

/** Returns a command's output. @throws Error when it fails. */
export async function runCommand(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  const output = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`)
  return output
}
