import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEchoProvider } from './adapters/ai-echo.ts'
import { type AiProvider, createHttpProvider } from './adapters/ai-provider.ts'
import { createEngine, hasContainer } from './adapters/engine.ts'
import type { RuntimeName } from './adapters/runtime.ts'
import { createAgentDoor } from './apps/agent-door.ts'
import { createApp } from './apps/app.ts'
import { openDashboard } from './apps/dashboard.ts'
import { openMigrated } from './apps/database.ts'
import { createMisdirectedNote, hostRuleOf } from './apps/hosts.ts'
import { jobKinds, repeatingJobs } from './apps/jobs.ts'
import { type House, listen } from './apps/listen.ts'
import { openPlatform, type Platform } from './apps/platform.ts'
import { createReach } from './apps/reach.ts'
import { openRuntimes } from './apps/runtime.ts'
import { systemClock } from './core/clock.ts'
import type { Config } from './core/config.ts'
import { errorMessage, StartupError } from './core/errors.ts'
import { newId, randomText } from './core/ids.ts'
import type { Log } from './core/log.ts'
import { lockDataDir } from './db/instance-lock.ts'
import { assignRuntimes, isAssigned } from './features/deployments/assign.ts'
import { reconcileAgents } from './features/deployments/reconcile.ts'
import { freeLeases } from './jobs/queue.ts'
import { startRunner } from './jobs/runner.ts'

/** What comes from outside the configuration: the environment of agents and the way to start one. */
export type ServeOptions = {
  config: Config
  log: Log
  /** Absolute path of this program and what makes it an agent. */
  agentCommand: readonly [string, ...string[]]
  path: string
  lang: string
}

export type Server = {
  urls: { web: string; backend: string; summarizer: string }
  isFirstRun: boolean
  /** What new agents get. */
  runtimeName: RuntimeName
  models: string[]
  /** Drains requests for up to 10 s, then closes. Agents go on unless `stopAgents` is set. */
  stop(options?: { stopAgents?: boolean }): Promise<void>
}

const OLLAMA_URL = 'http://127.0.0.1:11434/v1'
const PROBE_TIMEOUT_MS = 300

/**
 * Starts everything: the database, the three listeners, jobs, and the agents that should be running.
 * @throws StartupError when a setting, the data folder or a port makes that impossible.
 */
export async function serve(options: ServeOptions): Promise<Server> {
  const { config, log } = options
  const isFirstRun = !existsSync(config.databaseFile)
  prepareDataDir(config.dataDir)
  const unlock = lockDataDir(config.dataDir)
  let house: House | null = null
  const listeners = listen(() => house, {
    host: config.host,
    ports: config.ports,
    trustedProxies: config.trustedProxies,
    judgeHost: hostRuleOf(config),
    noteMisdirected: createMisdirectedNote(log),
  })
  const providers = await openProviders(config)
  const encryptionKey = config.encryptionKey ?? readOrCreateKey(config.dataDir)
  const { connection } = openMigrated(config.databaseFile, config.dataDir)
  const { db } = connection
  const processes = join(config.dataDir, 'agents')
  const instance = readOrCreateInstance(config.dataDir)
  await assignRuntimes(db, {
    configured: config.agents.runtime,
    processes,
    hasContainer: (id) => hasContainer(createEngine(config.agents.dockerHost), instance, id),
  })
  const runtimes = await openRuntimes({
    config: config.agents,
    instance,
    digestKey: encryptionKey,
    clock: systemClock,
    log,
    process: {
      dir: processes,
      command: options.agentCommand,
      path: options.path,
      lang: options.lang,
      mayStart: (id) => isAssigned(db, id, 'process'),
    },
  })
  const platform = openPlatform({
    config,
    clock: systemClock,
    log,
    fetch,
    connection,
    encryptionKey,
    runtimes,
    providers,
    bound: {
      webUrl: listeners.urls.web,
      webPort: listeners.ports.web,
      backendUrl: listeners.localUrls.backend,
      urlForAgents: createAgentDoor({ config, listeners }),
    },
    openProvider: (id, apiKey) => openProviderOf(config, id, apiKey),
  })
  house = { app: createApp(platform, openDashboard()), reach: createReach(platform) }
  const jobs = await startJobs(platform)

  return {
    urls: listeners.urls,
    isFirstRun,
    runtimeName: await runtimes.choose(),
    models: providers.map((provider) => provider.id),
    async stop({ stopAgents = false } = {}) {
      await listeners.stop()
      await jobs.stop()
      await platform.usage.flush()
      await runtimes.close({ stopAgents })
      platform.close()
      unlock()
    },
  }
}

async function startJobs(platform: Platform): Promise<{ stop(): Promise<void> }> {
  await freeLeases(platform.db, platform.clock)
  platform.queue.start(jobKinds(platform))
  const stopRunner = startRunner(repeatingJobs(platform), platform.log)
  const first = new AbortController()
  const atStart = Promise.all([reconcileAgents(platform), platform.catalogue.refresh(first.signal)]).catch((error) =>
    platform.log.error({ error: errorMessage(error) }, 'start-up work failed'),
  )
  return {
    async stop() {
      first.abort()
      await Promise.all([platform.queue.stop(), stopRunner(), atStart])
    },
  }
}

function prepareDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    accessSync(dataDir, constants.W_OK)
  } catch (error) {
    throw new StartupError(`DATA_DIR: ${dataDir} is not writable (${errorMessage(error)})`, { cause: error })
  }
}

/** The key that seals secrets at rest: made once, readable by its owner alone. */
function readOrCreateKey(dataDir: string): string {
  return readOrCreate(join(dataDir, 'encryption.key'), 'ENCRYPTION_KEY', () => randomText(43))
}

/** What tells this installation from others in the same container engine: made once, no secret. */
function readOrCreateInstance(dataDir: string): string {
  return readOrCreate(join(dataDir, 'instance.id'), 'DATA_DIR', () => randomText(12).toLowerCase())
}

function readOrCreate(file: string, setting: string, create: () => string): string {
  try {
    if (!existsSync(file)) writeFileSync(file, create(), { mode: 0o600, flag: 'wx' })
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`${setting}: ${file} cannot be used (${errorMessage(error)})`, { cause: error })
  }
}

/** One of the configurable providers, asked with `apiKey`; null for another. */
function openProviderOf({ ai }: Config, id: string, apiKey: string): AiProvider | null {
  const known = ai.providers.find((provider) => provider.id === id)
  if (!known) return null
  return createHttpProvider({ id, baseUrl: known.baseUrl, apiKey, timeoutMs: ai.attemptTimeoutMs }, { fetch })
}

async function openProviders(config: Config): Promise<AiProvider[]> {
  const { ai } = config
  const open = (id: string, baseUrl: string, apiKey: string | undefined) =>
    createHttpProvider({ id, baseUrl, apiKey, timeoutMs: ai.attemptTimeoutMs }, { fetch })
  const withKey = ai.providers
    .filter((provider) => provider.apiKey)
    .map((provider) => open(provider.id, provider.baseUrl, provider.apiKey))
  const ollamaUrl = ai.ollamaBaseUrl ?? (config.mode === 'home' && (await isAnswering(OLLAMA_URL)) ? OLLAMA_URL : null)
  const ollama = ollamaUrl ? [open('ollama', ollamaUrl, undefined)] : []
  const echo = ai.echo
    ? [createEchoProvider({ newId: () => newId('chatcmpl'), nowSeconds: () => Math.floor(Date.now() / 1000) })]
    : []
  return [...withKey, ...ollama, ...echo]
}

async function isAnswering(baseUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })).ok
  } catch {
    return false
  }
}
