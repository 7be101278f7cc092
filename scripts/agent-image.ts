/**
 * `bun run agent:image [--tag NAME] [--executable FILE] [--shell]`: the image `AGENT_IMAGE` from this checkout, without any
 * registry: one executable, which is built unless FILE is one, the libraries it needs, and an unprivileged user. With
 * `--shell` also this machine's static busybox, for agents that may run commands. Nothing is built when nothing has changed.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import type Docker from 'dockerode'
import { type Pack, pack } from 'tar-stream'
import { z } from 'zod'
import { steadDriver } from '../src/adapters/runtimes/contract/agent-image.ts'
import { createEngine, type Engine, hasStatus, orNull } from '../src/adapters/runtimes/engine/engine.ts'
import { readLines } from '../src/adapters/runtimes/engine/events.ts'
import { VERSION } from '../src/core/version.ts'

const root = join(import.meta.dir, '..')
const SOURCES =
  '{src/**/*,web/**/*,migrations/**/*,scripts/build*.ts,scripts/build/*.ts,scripts/docs.ts,scripts/agent-image.ts}'
const MANIFESTS = ['package.json', 'bun.lock']
const DIGEST_LABEL = 'stead.contentDigest'
const EXECUTABLE = '/usr/local/bin/stead'
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
/** Loaded by name at run time by older C libraries, so that no list of needed libraries has them. */
const RESOLVERS = ['libresolv.so.2', 'libnss_dns.so.2', 'libnss_files.so.2']
const BUSYBOXES = ['/bin/busybox', '/usr/bin/busybox']
const [uid = 0, gid = 0] = steadDriver.user.split(':').map(Number)

type File = { name: string; mode?: number } & ({ content: string | Buffer } | { linkname: string })

const { values } = parseArgs({
  options: { tag: { type: 'string' }, executable: { type: 'string' }, shell: { type: 'boolean', default: false } },
})
const reference = values.tag ?? (process.env.AGENT_IMAGE || `stead-agent:${VERSION}`)
const engine = createEngine(process.env.DOCKER_HOST ?? '/var/run/docker.sock')
const startedAt = performance.now()

const digest = await digestSources()
const existing = await engine.ask((docker) => orNull(docker.getImage(reference).inspect()))
if (existing?.Config.Labels?.[DIGEST_LABEL] === digest) {
  console.log(`${reference} is up to date.`)
} else {
  await importImage(engine, await collectFiles())
  const image = await engine.ask((docker) => docker.getImage(reference).inspect())
  if (existing && existing.RepoTags.length === 1) await removeUnused(existing.Id)
  console.log(`${reference} ${(image.Size / 1_000_000).toFixed(1)} MB in ${seconds()} s`)
}
process.exit(0)

/** What the image is made from: the same sources make the same image. */
async function digestSources(): Promise<string> {
  const hash = createHash('sha256')
    .update(process.arch)
    .update(Bun.version)
    .update(values.shell ? 'shell' : '')
  const paths = [...new Bun.Glob(SOURCES).scanSync(root)].filter((path) => !/^web\/dist\/|\.test\.tsx?$/.test(path))
  for (const path of [...paths.sort(), ...MANIFESTS]) hash.update(path).update(await readFile(join(root, path)))
  return hash.digest('hex')
}

async function collectFiles(): Promise<File[]> {
  const folder = await mkdtemp(join(tmpdir(), 'stead-image-'))
  try {
    const executable = values.executable ?? join(folder, 'stead')
    if (values.executable === undefined)
      await run(process.execPath, join(root, 'scripts/build.ts'), '--outfile', executable)
    const libraries = await listLibraries(executable)
    return [
      { name: EXECUTABLE, content: await readFile(executable), mode: 0o755 },
      ...(await Promise.all(libraries.map(toFile))),
      ...(existsSync(CERTIFICATES) ? [await toFile(CERTIFICATES)] : []),
      ...(values.shell ? await collectShell() : []),
      {
        name: '/etc/passwd',
        content: `root:x:0:0::/:/nowhere\nagent:x:${uid}:${gid}::${steadDriver.stateDir}:/nowhere\n`,
      },
      { name: '/etc/group', content: `root:x:0:\nagent:x:${gid}:\n` },
      { name: '/etc/nsswitch.conf', content: 'hosts: files dns\n' },
    ]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A shell, and what it calls: all of them are one program. @throws Error on a machine without a static busybox. */
async function collectShell(): Promise<File[]> {
  const path = BUSYBOXES.find(existsSync)
  if (path === undefined) throw new Error(`--shell packs a static busybox (busybox-static), and there is none here`)
  const content = await readFile(path)
  // Linked against libraries that the image does not have, it would not start.
  if (content.includes('/ld-linux') || content.includes('/ld-musl')) throw new Error(`${path} is not static`)
  const names = (await run(path, '--list')).split('\n').filter((name) => name !== '' && name !== 'busybox')
  const links = names.map((name) => ({ name: `/bin/${name}`, linkname: 'busybox' }))
  return [{ name: '/bin/busybox', content, mode: 0o755 }, ...links]
}

/** By the paths under which the executable looks for them. */
async function listLibraries(executable: string): Promise<string[]> {
  const output = await run('ldd', executable)
  const needed = [...output.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path)
  const folders = [...new Set(needed.map((path) => dirname(path)))]
  const resolvers = RESOLVERS.flatMap((name) => folders.map((folder) => join(folder, name)).find(existsSync) ?? [])
  return [...new Set([...needed, ...resolvers])]
}

async function toFile(path: string): Promise<File> {
  return { name: path, content: await readFile(await realpath(path)), mode: path.includes('.so') ? 0o755 : 0o644 }
}

async function importImage(engine: Engine, files: File[]): Promise<void> {
  const archive = pack()
  const filling = fill(archive, files)
  const at = reference.lastIndexOf(':')
  const name = { repo: reference.slice(0, at), tag: reference.slice(at + 1) }
  const stream = await engine.change((docker: Docker) =>
    docker.importImage(Readable.from(archive), { ...name, changes: toChanges() }),
  )
  await filling
  for await (const line of readLines(stream)) {
    const { error } = z.object({ error: z.string().optional() }).parse(JSON.parse(line))
    if (error) throw new Error(error)
  }
}

async function fill(archive: Pack, files: File[]): Promise<void> {
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

/** `/a/b/c` has `/a` and `/a/b`. */
function parentsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === '/' ? [] : [...parentsOf(parent), parent]
}

/** As lines of a Dockerfile. `docker build` would copy the whole image for each of them on some storage drivers. */
function toChanges(): string[] {
  return [
    `ENTRYPOINT ["${EXECUTABLE}", "agent"]`,
    `USER ${steadDriver.user}`,
    `WORKDIR ${steadDriver.stateDir}`,
    `VOLUME ${steadDriver.stateDir}`,
    `EXPOSE ${steadDriver.port}`,
    `ENV HOST=0.0.0.0 PORT=${steadDriver.port} AGENT_DIR=${steadDriver.stateDir} HOME=${steadDriver.stateDir}`,
    // For whoever runs it without a platform, which would look itself.
    `HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=5 CMD ["${EXECUTABLE}", "agent", "--check"]`,
    `LABEL stead.runtime=stead stead.runtimeVersion=${VERSION} ${DIGEST_LABEL}=${digest}`,
  ]
}

/** The image that had the name before, unless containers still are made from it. */
async function removeUnused(id: string): Promise<void> {
  try {
    await engine.change((docker) => docker.getImage(id).remove())
  } catch (error) {
    if (!hasStatus(error, 404, 409)) throw error
  }
}

async function run(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd: root, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  const output = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`)
  return output
}

function seconds(): string {
  return ((performance.now() - startedAt) / 1000).toFixed(1)
}
