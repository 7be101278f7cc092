import { mkdirSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { createAgentGateway } from '../../adapters/gateways/gateway.ts'
import { WORKSPACE_FOLDER } from '../../adapters/runtimes/contract/agent-image.ts'
import { createDockerRuntime } from '../../adapters/runtimes/docker/docker.ts'
import { createEngine } from '../../adapters/runtimes/engine/engine.ts'
import { systemClock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import { toPrettyLine } from '../../core/log/output.ts'
import { createLog, type Log } from '../../core/log.ts'
import { readOrCreate } from '../../core/text/read-or-create.ts'
import { VERSION } from '../../core/version.ts'
import { pause } from '../../jobs/runner.ts'
import { MAX_TURN_MS, PLATFORM_IDLE_MS, STOP_GRACE_MS } from '../agent.ts'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'
import { createMachineLog, type MachineLog } from './log.ts'
import { addMachineOptions, type Gateway, type MachineAccess, type MachineOptions, runMachine } from './machine.ts'

/** 43 characters of an alphabet of 62 have 256 bits. */
const TOKEN_LENGTH = 43
const INSTANCE_LENGTH = 12

type HomeOptions = MachineOptions & { model: string; port: string; host: string; image?: string }
/** The id of an agent that was not paired, and of its container. */
const AGENT_ID = 'home'
const HOME = { mode: 'home', agentKind: 'stead' } as const

/** Adds `home`, which runs an agent on this machine for a remote platform. */
export function homeCommand(program: Command): void {
  addExample(
    addMachineOptions(program.command('home')),
    'stead home --platform https://stead.example:3001 --code ABCD-EFGH',
    `The agent’s models are the platform’s, paid by the owner of the key. Its own clients show the gateway token that stands
in the file gateway.token of --dir (or GATEWAY_TOKEN, GATEWAY_TOKEN_FILE). It goes on while the platform is away.`,
  )
    .description('runs an agent on this machine and registers it with a platform')
    .option('--model <model>', 'the model it asks the platform for; default: what your plan gives', 'default')
    .option('--port <port>', 'where its gateway listens; 0: a free one', '18789')
    .option('--host <address>', 'address it binds', '127.0.0.1')
    .option('--image <image>', 'run it as a container of this image, with the engine of DOCKER_HOST')
    .option(
      '--dir <folder>',
      'its memory, its files, its gateway token and the credentials of its pairing',
      join(homedir(), '.stead', 'home'),
    )
    .action((options: HomeOptions) =>
      runMachine(options, { ...HOME, checkOptions: async () => readPort(options.port) }, (access) =>
        startHomeAgent(options, access),
      ),
    )
}

async function startHomeAgent(options: HomeOptions, access: MachineAccess): Promise<Gateway> {
  const folder = resolve(options.dir)
  const gatewayToken = readGatewayToken(folder)
  const port = readPort(options.port)
  const name = options.name ?? process.env.STEAD_NAME ?? hostname()
  // Logs to standard error: standard output carries the events.
  const machineLog = createMachineLog(() => systemClock.now())
  const log = createLog('info', {
    write(line) {
      const { stderr } = process
      machineLog.add(toPrettyLine(line, { hasColors: false }).trimEnd())
      stderr.write(stderr.isTTY ? toPrettyLine(line, { hasColors: stderr.hasColors() }) : line)
    },
  })
  if (options.image) {
    const instance = readKept(join(folder, 'instance.id'), () => randomText(INSTANCE_LENGTH).toLowerCase())
    const dockerHost = process.env.DOCKER_HOST || '/var/run/docker.sock'
    const { image, model } = options
    const platform = { url: access.url, key: access.token }
    const home = { image, port, name, model, platform, gatewayToken, instance, dockerHost }
    return startHomeContainer(home, machineLog, log)
  }
  const { serveAgent } = await import('../../agent/server.ts')
  const agent = await serveAgent(
    {
      host: options.host,
      port,
      agentId: access.paired?.agentId ?? AGENT_ID,
      name,
      model: options.model,
      version: VERSION,
      folder,
      gatewayToken,
      platformUrl: access.url,
      platformToken: access.token,
      idleMs: PLATFORM_IDLE_MS,
      maxTurnMs: MAX_TURN_MS,
    },
    { clock: systemClock, fetch, log },
  )
  return {
    machine: { ...HOME, gatewayUrl: agent.url, gatewayToken },
    services: { log: machineLog, files: { base: folder, below: [WORKSPACE_FOLDER] } },
    check: async () => undefined,
    stop: () => agent.stop(STOP_GRACE_MS),
  }
}

/** Returns the stored token, created once and readable by its owner only: clients of the agent save it. */
function readGatewayToken(folder: string): string {
  const { GATEWAY_TOKEN: given, GATEWAY_TOKEN_FILE: givenFile } = process.env
  if (given) return given
  return readKept(givenFile || join(folder, 'gateway.token'), () => `gw_${randomText(TOKEN_LENGTH)}`)
}

function readKept(file: string, create: () => string): string {
  return readOrCreate(file, '--dir', () => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    return create()
  })
}

function readPort(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new UsageError(`--port: must be a port, not ${JSON.stringify(text)}`)
}

const PULL_TIMEOUT_MS = 1_800_000
/** Timeout and interval of health checks of the container. */
const BEGIN_MS = 60_000
const POLL_MS = 2000
const GIGABYTE = 1024 ** 3
/** Fixed limits that a small machine can afford; no plan applies here. */
const LIMITS = { memoryBytes: 2 * GIGABYTE, cpus: 2, processes: 256 }

type HomeContainer = {
  image: string
  port: number
  name: string
  model: string
  platform: { url: string; key: string }
  gatewayToken: string
  /** Label that distinguishes this folder's container from others in the engine. */
  instance: string
  dockerHost: string
}

/**
 * Runs the agent as a container with the platform's security profile and stops it at the end; its volume stays.
 * @throws AppError `internal` without an engine, `not_found` IMAGE_NOT_FOUND, `conflict` PORT_TAKEN.
 */
async function startHomeContainer(home: HomeContainer, machineLog: MachineLog, log: Log): Promise<Gateway> {
  const { platform, gatewayToken, instance, image, port } = home
  // Inside the container, localhost is the container itself.
  if (/^(?:localhost|127\.|\[::1\])/.test(new URL(platform.url).hostname)) {
    throw new UsageError('--platform: a container cannot reach this address; give one of this machine’s network')
  }
  if (port === 0) throw new UsageError('--port: a container needs a fixed one')
  const engine = createEngine(home.dockerHost)
  const runtime = createDockerRuntime({ engine, instance, digestKey: gatewayToken, clock: systemClock, log })
  await runtime.pull(image, () => undefined, AbortSignal.timeout(PULL_TIMEOUT_MS))
  await runtime.deploy({
    id: AGENT_ID,
    image,
    port,
    environment: { AGENT_ID, AGENT_NAME: home.name, AGENT_MODEL: home.model, PLATFORM_URL: platform.url },
    secrets: { GATEWAY_TOKEN: gatewayToken, PLATFORM_TOKEN: platform.key },
    limits: LIMITS,
  })
  const endpoint = { baseUrl: `http://127.0.0.1:${port}`, gatewayToken, kind: 'stead' } as const
  const gateway = createAgentGateway({ fetch })
  const waited = AbortSignal.timeout(BEGIN_MS)
  while (!waited.aborted && !(await gateway.isLive(endpoint))) await pause(POLL_MS, waited)
  return {
    machine: { ...HOME, gatewayUrl: endpoint.baseUrl, gatewayToken },
    services: { log: machineLog, files: null },
    async check() {
      if (await gateway.isLive(endpoint)) return
      throw new AppError('unavailable', 'The container does not answer')
    },
    async stop() {
      await runtime.stop(AGENT_ID)
      await runtime.close()
    },
  }
}
