import { existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import Docker from 'dockerode'
import { pack } from 'tar-stream'
import { createEngine, type Engine, orNull } from '../../../src/adapters/runtimes/engine/engine.ts'
import { errorMessage } from '../../../src/core/errors.ts'
import { takeSlot } from '../ports.ts'
import { endAfterFile } from '../teardown.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path))
const DEFAULT_HOST = '/var/run/docker.sock'
const AGENT_USER = { uid: 10_001, gid: 10_001 }
/** Ends the engine when the pipe closes, which happens however the tests end. */
const UNTIL_STDIN_ENDS = '"$0" "$@" & echo $!; cat >/dev/null; kill $!; wait $!'
/** Unmounts the data that a killed daemon leaves mounted. */
const CLEAN_UP = 'grep -o " $0/[^ ]*" /proc/mounts | sort -r | xargs -r umount -l; rm -rf "$0"'

/**
 * A minimal agent of two megabytes that answers `/healthz`. It evaluates `RUN` in the background and `BE` before it
 * listens, and exits with `EXIT_CODE`.
 */
const AGENT = `#!/bin/busybox sh
PATH=/bin
if [ "$2" = --check ]; then exec nc -w 4 127.0.0.1 "$PORT" -e true; fi
echo "agent $AGENT_ID listens on $PORT"
if [ -n "$EXIT_CODE" ]; then exit "$EXIT_CODE"; fi
if [ -n "$RUN" ]; then eval "$RUN" & fi
if [ -n "$BE" ]; then eval "$BE"; fi
exec httpd -f -p "$PORT" -h /www
`

/**
 * Returns a command that exits with 0 if a TCP connection succeeds. `nc`, because the static busybox cannot resolve
 * names in `wget`.
 */
export function toConnectCommand(host: string, port: number): string[] {
  return ['nc', '-w', '2', host, String(port), '-e', 'true']
}

const HEALTH = '{"ok":true,"status":"live"}\n'
const CHANGES = [
  'ENTRYPOINT ["/usr/local/bin/stead", "agent"]',
  'LABEL stead.runtime=stead stead.runtimeVersion=1.2.3',
  'VOLUME /data',
]

/**
 * Time that a daemon and its containers get to stop before SIGKILL, so that a hanging daemon cannot block the tests.
 */
const END_MS = 60_000

/**
 * The engine re-executes itself for each step of a container's network and spends a third of that time on garbage
 * collection.
 */
export const FEWER_COLLECTIONS = { GOGC: '800' }

/** Timeouts for an engine on a busy machine. */
export const LONG_TIMEOUTS = { pingMs: 120_000, queryMs: 120_000, changeMs: 300_000 }

/** A Docker engine for tests: `dockerHost` is its address, `image` a minimal agent image. */
export type TestEngine = { dockerHost: string; engine: Engine; docker: Docker; image: string }

/** A daemon of the test's own; `pid` is the current one. */
export type PrivateEngine = TestEngine & AsyncDisposable & { pid(): number; start(): Promise<void> }

let shared: Promise<TestEngine | null> | undefined

/**
 * Returns the engine at `DOCKER_HOST`, or starts one. Returns null and logs a warning if neither is possible; the tests
 * are skipped then.
 */
export function findEngine(): Promise<TestEngine | null> {
  shared ??= openShared()
  return shared
}

/** Returns whether this machine can run Docker daemons. Root in a container often cannot. */
export function canStartEngines(): boolean {
  if (process.getuid?.() !== 0 || Bun.which('dockerd') === null || BUSYBOX === undefined) return false
  mayNest ??= Bun.spawnSync(['unshare', '--mount', '--net', 'true']).success
  return mayNest
}

let mayNest: boolean | undefined

/**
 * Starts a Docker daemon with its own data, containerd, socket and address range. It sets no firewall rules, so
 * networks are not isolated.
 */
export async function startEngine(): Promise<PrivateEngine> {
  const folder = tempFolder()
  const socket = folder.file('docker.sock')
  const args = [
    ['--host', `unix://${socket}`],
    ['--data-root', folder.file('data'), '--exec-root', folder.file('exec'), '--pidfile', folder.file('docker.pid')],
    ['--storage-driver', 'vfs', '--bridge', 'none', '--iptables=false', '--ip-masq=false'],
    ['--default-address-pool', `base=10.${200 + (await takeSlot())}.0.0/16,size=24`],
  ].flat()
  const docker = new Docker({ socketPath: socket })
  let child: Bun.Subprocess<'pipe', 'pipe', 'ignore'> | undefined
  let pid = 0
  const end = async () => {
    await child?.stdin.end()
    const guard = setTimeout(() => signal(pid, 'SIGKILL'), END_MS)
    await child?.exited
    clearTimeout(guard)
  }
  const start = async () => {
    await end()
    child = Bun.spawn(['sh', '-c', UNTIL_STDIN_ENDS, 'dockerd', ...args], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'ignore',
      env: { ...process.env, ...FEWER_COLLECTIONS },
    })
    pid = await readPid(child.stdout)
    await until('the private engine answers', () => isAnswering(socket))
  }
  const removeContainers = async () => {
    if (!(await isAnswering(socket))) await start()
    for (const { Id } of await docker.listContainers({ all: true })) {
      await docker.getContainer(Id).remove({ force: true, v: true })
    }
  }
  await start()
  const image = await importAgent(docker)
  return {
    dockerHost: `unix://${socket}`,
    engine: createEngine(socket, LONG_TIMEOUTS),
    docker,
    image,
    pid: () => pid,
    start,
    async [Symbol.asyncDispose]() {
      // A failed test may leave the daemon frozen, where no other signal ends it.
      signal(pid, 'SIGCONT')
      await Promise.race([removeContainers(), Bun.sleep(END_MS)])
      await end()
      Bun.spawnSync(['sh', '-c', CLEAN_UP, folder.path])
    },
  }
}

function signal(pid: number, name: 'SIGCONT' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // The daemon has already exited.
  }
}

/** Runs a command in a container. @returns its exit code and output. */
export async function execIn(docker: Docker, container: string, command: string[]) {
  const exec = await docker.getContainer(container).exec({
    Cmd: command,
    Tty: true,
    AttachStdout: true,
    AttachStderr: true,
  })
  const output = await text(await exec.start({ Tty: true }))
  const { ExitCode } = await exec.inspect()
  return { exitCode: ExitCode, output }
}

async function openShared(): Promise<TestEngine | null> {
  const dockerHost = process.env.DOCKER_HOST ?? DEFAULT_HOST
  const socketPath = dockerHost.replace(/^unix:\/\//, '')
  const docker = new Docker({ socketPath })
  if (BUSYBOX && (await isAnswering(socketPath))) {
    return { dockerHost, engine: createEngine(dockerHost, LONG_TIMEOUTS), docker, image: await importAgent(docker) }
  }
  const reason = canStartEngines() ? await startSharedEngine().catch(errorMessage) : 'no dockerd or no static busybox'
  if (typeof reason !== 'string') return reason
  console.warn(`No container engine here (${reason}; scripts/test-peers): container tests are skipped.`)
  return null
}

/** Deletes all containers, volumes and networks of an instance. */
export async function removeAll(docker: Docker, instance: string): Promise<void> {
  const filters = { label: [`stead.instance=${instance}`] }
  for (const { Id } of await docker.listContainers({ all: true, filters })) {
    await docker.getContainer(Id).remove({ force: true, v: true })
  }
  for (const { Name } of (await docker.listVolumes({ filters })).Volumes) await docker.getVolume(Name).remove()
  for (const { Id } of await docker.listNetworks({ filters })) await docker.getNetwork(Id).remove()
}

async function startSharedEngine(): Promise<TestEngine> {
  const engine = await startEngine()
  endAfterFile(() => {
    shared = undefined
    return engine[Symbol.asyncDispose]()
  })
  return engine
}

/** Imports the image of the minimal agent. @returns its name. */
export async function importAgent(docker: Docker): Promise<string> {
  if (BUSYBOX === undefined) throw new Error('There is no busybox')
  const image = { repo: 'stead-test-agent', tag: Bun.hash(AGENT + HEALTH + CHANGES.join()).toString(36) }
  const reference = `${image.repo}:${image.tag}`
  if (await orNull(docker.getImage(reference).inspect())) return reference
  const archive = pack()
  const folder = (name: string) => archive.entry({ name, type: 'directory', mode: 0o755 })
  for (const name of ['bin', 'usr', 'usr/local', 'usr/local/bin', 'www', 'tmp']) folder(name)
  archive.entry({ name: 'data', type: 'directory', mode: 0o700, ...AGENT_USER })
  archive.entry({ name: 'bin/busybox', mode: 0o755 }, Buffer.from(await Bun.file(BUSYBOX).arrayBuffer()))
  for (const name of ['sh', 'wget', 'httpd', 'sleep', 'cat', 'ls', 'id', 'nc', 'dd', 'tail', 'kill', 'echo', 'true']) {
    archive.entry({ name: `bin/${name}`, type: 'symlink', linkname: 'busybox' })
  }
  archive.entry({ name: 'usr/local/bin/stead', mode: 0o755 }, AGENT)
  archive.entry({ name: 'www/healthz', mode: 0o644 }, HEALTH)
  archive.finalize()
  await text(await docker.importImage(Readable.from(archive), { ...image, changes: CHANGES }))
  return reference
}

/** Uses a timeout and retries, because an engine that stops may never respond. */
function isAnswering(socketPath: string): Promise<boolean> {
  return new Docker({ socketPath, timeout: 10_000 }).ping().then(
    () => true,
    () => false,
  )
}

async function readPid(output: ReadableStream<Uint8Array>): Promise<number> {
  const { value } = await output.getReader().read()
  return Number(new TextDecoder().decode(value))
}
