import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { agentFolder, findRecord } from '../../src/adapters/runtimes/process/files.ts'
import { endProcesses } from '../../src/adapters/runtimes/process/spawn.ts'
import { createProcessTable } from '../../src/adapters/runtimes/process/table.ts'
import { readConfig } from '../../src/core/config.ts'
import { createLog } from '../../src/core/log.ts'
import type { Server } from '../../src/serve.ts'
import { anyBotUrl } from './doubles/bots.ts'
import { findAgentPorts, findFreePorts } from './ports.ts'
import { addMigratedDatabase } from './rows/migrated-file.ts'
import { tempFolder } from './temp-folder.ts'
import { until } from './until.ts'
import { readLines } from './wires/lines.ts'

const MAIN = join(import.meta.dir, '..', '..', 'src', 'main.ts')
/** Command that starts Stead: the built executable, which starts three times as fast, or the source. */
export const STEAD: readonly [string, ...string[]] = process.env.STEAD_UNDER_TEST
  ? [process.env.STEAD_UNDER_TEST]
  : [process.execPath, MAIN]

/** Key of the backend API of every installation. */
export const SERVICE_KEY = 'internal-key-of-the-journeys-0123456789abcdef'

/** Returns the settings of an isolated home installation: no rate limits, process agents on their own ports. */
async function settings(dataDir: string): Promise<Record<string, string>> {
  const rates = ['BACKEND', 'AI', 'DEPLOYMENTS', 'AGENTS', 'CHAT', 'REGISTER', 'LOGIN']
  return {
    DATA_DIR: dataDir,
    TELEGRAM_API_URL: anyBotUrl(),
    DISCORD_API_URL: anyBotUrl(),
    SLACK_API_URL: anyBotUrl(),
    DEPLOYMENT_MODE: 'home',
    WEB_PORT: '0',
    BACKEND_PORT: '0',
    SUMMARIZER_PORT: '0',
    AGENT_RUNTIME: 'process',
    AGENTS_BASE_PORT: String(await findAgentPorts()),
    INTERNAL_API_KEY: SERVICE_KEY,
    ...Object.fromEntries(rates.map((name) => [`RATE_LIMIT_${name}`, '1000000'])),
  }
}

/** The service inside the test's process, on free ports. Disposing it ends its agents. */
export type TestServer = AsyncDisposable & Pick<Server, 'urls'> & { dataDir: string; logLines: string[] }

/**
 * Starts the service inside the test's process. `agentCommand` replaces the built-in agent; it runs without a sandbox,
 * because it reads files of the test.
 */
export async function startServer(
  environment: Record<string, string> = {},
  agentCommand?: readonly [string, ...string[]],
): Promise<TestServer> {
  const folder = tempFolder()
  const dataDir = folder.file('data')
  const logLines: string[] = []
  await addMigratedDatabase(dataDir)
  // Imported lazily: most tests start programs and never need the module.
  const { serve } = await import('../../src/serve.ts')
  const server = await serve({
    config: readConfig({
      ...(await settings(dataDir)),
      ...(agentCommand && { AGENT_ISOLATION: 'off' }),
      ...environment,
    }),
    log: createLog('info', { write: (line) => void logLines.push(line) }),
    agentCommand: agentCommand ?? [...STEAD, 'agent'],
    path: process.env.PATH ?? '',
    lang: 'C.UTF-8',
  })
  return {
    urls: server.urls,
    dataDir,
    logLines,
    async [Symbol.asyncDispose]() {
      await server.stop({ stopAgents: true })
      await endAgents(dataDir)
      folder[Symbol.dispose]()
    },
  }
}

/** Exit code and output of a program. */
export type Finished = { exitCode: number; stdout: string; stderr: string }

/** A running service: `stop` sends SIGTERM, `kill` SIGKILL; its agents survive both. */
export type Program = Pick<Server, 'urls'> & {
  pid: number
  lines: string[]
  stop(): Promise<Finished>
  kill(): Promise<void>
  /** Resolves when the service ends without `stop`. */
  ended(): Promise<Finished>
}

/**
 * A data folder with the settings and processes of a service. The ports stay the same through restarts. Disposing it
 * ends every process and deletes the folder.
 */
export type Installation = AsyncDisposable & {
  dataDir: string
  /**
   * Starts `serve`, optionally with another `command`, and waits until all three listeners answer. @throws Error with
   * its output when it exits.
   */
  start(environment?: Record<string, string>, command?: readonly [string, ...string[]]): Promise<Program>
  /** Runs a command such as `user list` and returns its result. */
  run(args: string[], options?: { stdin?: string; environment?: Record<string, string> }): Promise<Finished>
  /** Returns the process id of each agent. */
  agentPids(): Promise<Map<string, number>>
}

export type InstallationOptions = {
  environment?: Record<string, string>
  /** Command that starts Stead in `cwd`; by default the built executable or the source. */
  command?: readonly [string, ...string[]]
  cwd?: string
  /** Arguments of `start`, by default `serve`. */
  serve?: string[]
  /** If true, the data folder starts empty, so that the first start creates and migrates the database. */
  isEmpty?: boolean
}

export async function openInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const folder = tempFolder()
  const dataDir = folder.file('data')
  const home = folder.file('home')
  mkdirSync(home)
  const [web, backend, summarizer] = await findFreePorts(3)
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TMPDIR: folder.path,
    ...(await settings(dataDir)),
    WEB_PORT: String(web),
    BACKEND_PORT: String(backend),
    SUMMARIZER_PORT: String(summarizer),
    ...options.environment,
  }
  const spawn = (
    args: string[],
    stdin: string,
    more: Record<string, string> = {},
    command = options.command ?? STEAD,
  ) => {
    const child = Bun.spawn([...command, ...args], {
      cwd: options.cwd ?? home,
      env: { ...environment, ...more },
      stdin: Buffer.from(stdin),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    children.add(child)
    return child
  }
  const children = new Set<ReturnType<typeof spawn>>()
  let isNew = true
  return {
    dataDir,
    async run(args, { stdin = '', environment: more } = {}) {
      const child = spawn(args, stdin, more)
      const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      return { exitCode: await child.exited, stdout, stderr }
    },
    async start(more, command) {
      if (isNew && !options.isEmpty && more?.DATA_DIR === undefined) await addMigratedDatabase(dataDir)
      isNew = false
      return startProgram(spawn(options.serve ?? ['serve'], '', more, command))
    },
    agentPids: () => findAgentPids(dataDir),
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL')
      await Promise.all([...children].map((child) => child.exited))
      await endAgents(dataDir)
      folder[Symbol.dispose]()
    },
  }
}

type Child = Bun.Subprocess<'pipe' | Buffer, 'pipe', 'pipe'>

async function startProgram(child: Child): Promise<Program> {
  const lines: string[] = []
  const stderr = new Response(child.stderr).text()
  const reading = collect(child.stdout, lines)
  const urlOf = (name: string) => lines.map((line) => line.match(`^ +${name} +(http\\S+)$`)?.[1]).find(Boolean)
  const urls = await until('the banner', async () => {
    if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}: ${await stderr}`)
    const [web, backend, summarizer] = ['Dashboard', 'Backend', 'Summarizer'].map(urlOf)
    return web && backend && summarizer ? { web, backend, summarizer } : null
  })
  await Promise.all([isUp(`${urls.web}/api/health`), isUp(`${urls.backend}/health`), isUp(`${urls.summarizer}/health`)])
  const ended = async () => {
    const exitCode = await child.exited
    await reading
    return { exitCode, stdout: lines.join('\n'), stderr: await stderr }
  }
  return {
    urls,
    pid: child.pid,
    lines,
    stop() {
      child.kill('SIGTERM')
      return ended()
    },
    ended,
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

async function collect(stream: ReadableStream<Uint8Array>, lines: string[]): Promise<void> {
  for await (const line of readLines(stream)) lines.push(line)
}

async function isUp(url: string): Promise<void> {
  await until(`200 of ${url}`, async () => (await fetch(url).catch(() => null))?.ok)
}

/** Returns the process id of each agent of a data folder. */
export async function findAgentPids(dataDir: string): Promise<Map<string, number>> {
  const pids = new Map<string, number>()
  for (const folder of agentFolders(dataDir)) {
    const record = await findRecord(folder)
    if (record?.process) pids.set(folder.id, record.process.pid)
  }
  return pids
}

/** Ends every agent process of a data folder. */
async function endAgents(dataDir: string): Promise<void> {
  const table = createProcessTable()
  for (const folder of agentFolders(dataDir)) {
    const record = await findRecord(folder).catch(() => null)
    await endProcesses(table, folder, record?.process ?? null, 0)
  }
}

function agentFolders(dataDir: string) {
  const root = join(dataDir, 'agents')
  if (!existsSync(root)) return []
  const entries = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return entries.map(({ name }) => agentFolder(root, name))
}
