import { existsSync } from 'node:fs'
import { createEchoProvider } from './adapters/models/echo.ts'
import { createHttpProvider } from './adapters/models/http-provider.ts'
import type { AiProvider } from './adapters/models/provider.ts'
import type { RuntimeName } from './adapters/runtimes/contract/runtime.ts'
import { openTraces } from './adapters/traces/open-traces.ts'
import type { Config } from './core/config.ts'
import { requireWritableFolder } from './core/files/ownership.ts'
import { newId } from './core/ids.ts'
import type { Log } from './core/log.ts'
import { reloadConfig } from './core/settings/reload.ts'
import type { ShownSetting } from './core/settings/show.ts'
import { lockDataDir } from './db/instance-lock.ts'
import { toSetupUrl } from './features/accounts/registration/setup.ts'
import type { RunStead } from './features/admin/backups/run-backup.ts'
import { createLogTail, type LogTail } from './features/admin/logs/log-tail.ts'
import { startRunner } from './jobs/runner.ts'
import { requireFinished, undoUnfinished } from './server/backups/unfinished.ts'
import type { ClusterConfig } from './server/cluster/join.ts'
import type { ClusterNode } from './server/cluster/node.ts'
import { requireWhole } from './server/damage.ts'
import { openKey } from './server/keys/encryption-key.ts'
import { startDatabaseCheck } from './server/later-check.ts'
import { type AgentDoor, createAgentListener } from './server/listeners/agent-listener.ts'
import { createEgressProxyListener } from './server/listeners/egress-proxy.ts'
import { createMisdirectedNote, hostRuleOf } from './server/listeners/hosts.ts'
import { type Listeners, listen } from './server/listeners/listen.ts'
import { type OpenServer, openServer } from './server/open.ts'
import { noteServerAddress } from './server/server-address.ts'

/** Options from outside the configuration: the environment of agents and how to start one. */
export type ServeOptions = {
  config: Config
  log: Log
  /** Command that starts an agent: the absolute path of this program and its arguments. */
  agentCommand: readonly [string, ...string[]]
  path: string
  lang: string
  /** Runs a command of this program in a child process, for backups. */
  runStead?: RunStead
  /** Effective settings, shown to administrators. */
  shownSettings?: readonly ShownSetting[]
  /** Latest log lines, shown to administrators. */
  logTail?: LogTail
}

export type Server = {
  urls: { web: string; backend: string; summarizer: string }
  isFirstRun: boolean
  /** URL that creates the first account, with its expiry; null when an account exists. */
  setup: { url: string; expiresAt: Date } | null
  /** Runtime of new agents. */
  runtimeName: RuntimeName
  /** The installation is a copy of one that runs elsewhere; its agents are not started. */
  isStandby: boolean
  models: string[]
  /** Applies the settings that can change without a restart and ignores the others. */
  reload(next: Config): void
  /** Returns the number of running agents, which outlive the server. */
  countRunning(): number
  /** Drains requests for up to 10 s, then closes. Agents go on unless `stopAgents` is set. */
  stop(options?: { stopAgents?: boolean }): Promise<void>
}

const OLLAMA_URL = 'http://127.0.0.1:11434/v1'
const PROBE_TIMEOUT_MS = 300
/** Interval at which a standby server checks for `stead adopt`. */
const TAKE_OVER_CHECK_MS = 1000

/**
 * Starts everything: the database, the three listeners, jobs, and the agents that should be running.
 * @throws StartupError when a setting, the data folder or a port makes that impossible.
 */
export async function serve(options: ServeOptions): Promise<Server> {
  const { config, log } = options
  const isFirstRun = !existsSync(config.databaseFile)
  requireWritableFolder('DATA_DIR', config.dataDir)
  const unlock = lockDataDir(config.dataDir)
  const isCheckDue = requireUsableData(config)
  const encryptionKey = openKey(config)
  let installation: OpenServer | null = null
  await startFetchThread()
  const listeners = openListeners(config, log, () => installation)
  const forgetAddress = noteServerAddress(config.dataDir, listeners.localUrls)
  const traces = config.traces && (await openTraces(config.traces, log))
  const trace = (provider: AiProvider) => traces?.trace(provider) ?? provider
  const providers = (await openKeylessProviders(config)).map(trace)
  const cluster = config.cluster && (await openCluster({ ...config, cluster: config.cluster }, log))
  const openThisPlatform = () =>
    openServer({
      cluster,
      config,
      log,
      encryptionKey,
      providers,
      trace,
      traceGateway: traces?.traceGateway ?? null,
      runStead: options.runStead ?? null,
      ...{ shownSettings: options.shownSettings ?? [], logTail: options.logTail ?? createLogTail() },
      agent: { command: options.agentCommand, path: options.path, lang: options.lang },
      bound: {
        webUrl: listeners.urls.web,
        webPort: listeners.ports.web,
        ...{ urlForAgents: toUrlForAgents(config, listeners), proxyForAgents: listeners.proxyForAgents },
        countUnderWay: listeners.countUnderWay,
      },
    })
  const first = await openThisPlatform()
  installation = first
  const reopen = async (prepare?: () => Promise<unknown>) => {
    const before = installation
    installation = null
    await before?.close()
    await prepare?.()
    installation = await openThisPlatform()
  }
  const takeOver = async () => {
    if (!installation?.wasTakenOver()) return
    log.info('This installation took over the agents.')
    await reopen()
  }
  cluster?.start(reopen)
  const stopChecking = isCheckDue && options.runStead ? startDatabaseCheck(options.runStead, log) : null
  const stopWaiting = startRunner(
    first.isStandby ? [{ name: 'take-over', everyMs: TAKE_OVER_CHECK_MS, run: takeOver }] : [],
    log,
  )

  return {
    urls: listeners.urls,
    isFirstRun,
    setup: toSetup(first.setupLink, config.appUrl ?? listeners.urls.web),
    runtimeName: first.runtimeName,
    isStandby: first.isStandby,
    models: first.listProviders(),
    reload(next) {
      reloadConfig(config, next)
      installation?.reload()
    },
    countRunning: () => installation?.countRunning() ?? 0,
    async stop({ stopAgents = false } = {}) {
      forgetAddress()
      await stopChecking?.()
      await cluster?.stop()
      await listeners.stop()
      await stopWaiting()
      await installation?.close({ stopAgents })
      await cluster?.close()
      await traces?.close()
      unlock()
    },
  }
}

/** Agents of a cluster may have an address that stays when another node leads. */
function toUrlForAgents(config: Config, listeners: Listeners): AgentDoor {
  const agentsUrl = config.cluster?.agentsUrl
  return agentsUrl ? async () => agentsUrl : createAgentListener({ config, listeners })
}

/** Opens the listeners of the APIs and the egress proxy of agents. */
function openListeners(config: Config, log: Log, getServer: () => OpenServer | null) {
  const proxy = createEgressProxyListener({
    dataDir: config.dataDir,
    log,
    getRules: () => getServer()?.egressRules ?? undefined,
  })
  const listeners = listen(getServer, {
    host: config.host,
    ports: config.ports,
    trustedProxies: config.trustedProxies,
    judgeHost: hostRuleOf(config),
    noteMisdirected: createMisdirectedNote(log),
  })
  const stop = async () => {
    await listeners.stop()
    await proxy.close()
  }
  return { ...listeners, proxyForAgents: proxy.urlFor, stop }
}

/**
 * Undoes an interrupted restore and checks a small database.
 * @returns whether a large database needs a check.
 * @throws StartupError
 */
function requireUsableData(config: Config): boolean {
  undoUnfinished(config.dataDir)
  requireFinished(config.dataDir)
  return requireWhole(config)
}

/**
 * Starts Bun's fetch thread before clients can connect: it starts with the first call and ends the process when no file
 * descriptor is left. The socket path does not exist.
 */
async function startFetchThread(): Promise<void> {
  await fetch('http://localhost/', { unix: '/none', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).catch(() => null)
}

async function openCluster(config: Config & { cluster: ClusterConfig }, log: Log): Promise<ClusterNode> {
  // A single node does not load the client of PostgreSQL.
  const { joinCluster } = await import('./server/cluster/join.ts')
  const { createClusterNode } = await import('./server/cluster/node.ts')
  const membership = await joinCluster(config, log)
  return createClusterNode(config, membership, log)
}

/** Opens the providers that need no API key. */
async function openKeylessProviders(config: Config): Promise<AiProvider[]> {
  const { ai } = config
  const openOllama = (baseUrl: string) =>
    createHttpProvider({ id: 'ollama', baseUrl, apiKey: undefined, timeoutMs: ai.attemptTimeoutMs }, { fetch })
  const ollamaUrl = ai.ollamaBaseUrl ?? (config.mode === 'home' && (await isAnswering(OLLAMA_URL)) ? OLLAMA_URL : null)
  const ollama = ollamaUrl ? [openOllama(ollamaUrl)] : []
  const echo = ai.echo
    ? [createEchoProvider({ newId: () => newId('chatcmpl'), nowSeconds: () => Math.floor(Date.now() / 1000) })]
    : []
  return [...ollama, ...echo]
}

async function isAnswering(baseUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })).ok
  } catch {
    return false
  }
}

/** Returns where the first account is created, null when there is one. */
function toSetup(link: OpenServer['setupLink'], appUrl: string): Server['setup'] {
  return link && { url: toSetupUrl(appUrl, link.token), expiresAt: link.expiresAt }
}
