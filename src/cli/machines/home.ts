import { mkdirSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { systemClock } from '../../core/clock.ts'
import { randomText } from '../../core/ids.ts'
import { toPrettyLine } from '../../core/log/format.ts'
import { createLog } from '../../core/log.ts'
import { readOrCreate } from '../../core/text/read-or-create.ts'
import { VERSION } from '../../core/version.ts'
import { MAX_TURN_MS, PLATFORM_IDLE_MS, STOP_GRACE_MS } from '../agent.ts'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'
import { addMachineOptions, type Gateway, type MachineOptions, runMachine } from './machine.ts'

/** 43 characters of an alphabet of 62 have 256 bits. */
const TOKEN_LENGTH = 43
const INSTANCE_LENGTH = 12

type HomeOptions = MachineOptions & { model: string; port: string; host: string; dir: string; image?: string }

/** Adds `home`, which runs an agent on this machine for a remote platform. */
export function homeCommand(program: Command): void {
  addExample(
    addMachineOptions(program.command('home')),
    'stead home --platform https://stead.example:3001 --key-file ~/.stead/key',
    `The agent’s models are the platform’s, paid by the owner of the key. Its own clients show the gateway token that stands
in the file gateway.token of --dir (or GATEWAY_TOKEN, GATEWAY_TOKEN_FILE). It goes on while the platform is away.`,
  )
    .description('runs an agent on this machine and registers it with a platform')
    .option('--model <model>', 'the model it asks the platform for; default: what your plan gives', 'default')
    .option('--port <port>', 'where its gateway listens; 0: a free one', '18789')
    .option('--host <address>', 'address it binds', '127.0.0.1')
    .option('--image <image>', 'run it as a container of this image, with the engine of DOCKER_HOST')
    .option('--dir <folder>', 'its memory, its files and its gateway token', join(homedir(), '.stead', 'home'))
    .action((options: HomeOptions) => runMachine(options, (platform) => startHomeAgent(options, platform)))
}

async function startHomeAgent(options: HomeOptions, platform: { url: string; key: string }): Promise<Gateway> {
  const folder = resolve(options.dir)
  const gatewayToken = readGatewayToken(folder)
  const port = readPort(options.port)
  const name = options.name ?? process.env.STEAD_NAME ?? hostname()
  // Logs to standard error: standard output carries the events.
  const log = createLog('info', {
    write(line) {
      const { stderr } = process
      stderr.write(stderr.isTTY ? toPrettyLine(line, { hasColors: stderr.hasColors() }) : line)
    },
  })
  if (options.image) {
    const { startHomeContainer } = await import('./home-container.ts')
    const instance = readKept(join(folder, 'instance.id'), () => randomText(INSTANCE_LENGTH).toLowerCase())
    const dockerHost = process.env.DOCKER_HOST || '/var/run/docker.sock'
    const { image, model } = options
    return startHomeContainer({ image, port, name, model, platform, gatewayToken, instance, dockerHost }, log)
  }
  const { serveAgent } = await import('../../agent/server.ts')
  const agent = await serveAgent(
    {
      host: options.host,
      port,
      agentId: 'home',
      name,
      model: options.model,
      version: VERSION,
      folder,
      gatewayToken,
      platformUrl: platform.url,
      platformToken: platform.key,
      idleMs: PLATFORM_IDLE_MS,
      maxTurnMs: MAX_TURN_MS,
    },
    { clock: systemClock, fetch, log },
  )
  return {
    machine: { mode: 'home', gatewayUrl: agent.url, gatewayToken },
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
