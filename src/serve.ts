import { existsSync } from 'node:fs'
import { createEchoProvider } from './adapters/models/echo.ts'
import { createHttpProvider } from './adapters/models/http-provider.ts'
import type { AiProvider } from './adapters/models/provider.ts'
import type { RuntimeName } from './adapters/runtimes/contract/runtime.ts'
import { openTraces } from './adapters/traces/open-traces.ts'
import type { Config } from './core/config.ts'
import { requireWritableFolder } from './core/files/writable.ts'
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
import { requireWhole } from './server/damage.ts'
import { openKey } from './server/keys/encryption-key.ts'
import { startDatabaseCheck } from './server/later-check.ts'
import { createAgentDoor } from './server/listeners/agent-listener.ts'
import { createMisdirectedNote, hostRuleOf } from './server/listeners/hosts.ts'
import { listen } from './server/listeners/listen.ts'
import { type OpenServer, openServer } from './server/open.ts'
import { noteServerAddress } from './server/server-address.ts'

/** What comes from outside the configuration: the environment of agents and the way to start one. */
export type ServeOptions = {
  config: Config
  log: Log
  /** Absolute path of this program and what makes it an agent. */
  agentCommand: readonly [string, ...string[]]
  path: string
  lang: string
  /** Runs this program beside this process, for backups. */
  runStead?: RunStead
  /** The settings in effect, for admins; none unless they are given. */
  shownSettings?: readonly ShownSetting[]
  /** The last lines of the log, for administrators. */
  logTail?: LogTail
}

export type Server = {
  urls: { web: string; backend: string; summarizer: string }
  isFirstRun: boolean
  /** Where the first account is made, and until when; null when there is one. */
  setup: { url: string; expiresAt: Date } | null
  /** What new agents get. */
  runtimeName: RuntimeName
  /** It is a copy of an installation that lives elsewhere, and leaves the agents alone. */
  isStandby: boolean
  models: string[]
  /** Takes over the settings that count without a restart; those of `next` that do not are left alone. */
  reload(next: Config): void
  /** Returns how many agents run now, which they do not stop doing with the server. */
  countRunning(): number
  /** Drains requests for up to 10 s, then closes. Agents go on unless `stopAgents` is set. */
  stop(options?: { stopAgents?: boolean }): Promise<void>
}

const OLLAMA_URL = 'http://127.0.0.1:11434/v1'
const PROBE_TIMEOUT_MS = 300
/** How often a copy looks whether it has been adopted. */
const ADOPT_MS = 1000

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
  const listeners = listen(() => installation, {
    host: config.host,
    ports: config.ports,
    trustedProxies: config.trustedProxies,
    judgeHost: hostRuleOf(config),
    noteMisdirected: createMisdirectedNote(log),
  })
  const forgetAddress = noteServerAddress(config.dataDir, listeners.localUrls)
  const traces = config.traces && (await openTraces(config.traces, log))
  const trace = (provider: AiProvider) => traces?.trace(provider) ?? provider
  const providers = (await openKeylessProviders(config)).map(trace)
  const openThisPlatform = () =>
    openServer({
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
        urlForAgents: createAgentDoor({ config, listeners }),
        countUnderWay: listeners.countUnderWay,
      },
    })
  const first = await openThisPlatform()
  installation = first
  const adopt = async () => {
    if (!installation?.wasAdopted()) return
    log.info('The agents were adopted: they are looked after from now on.')
    const before = installation
    installation = null
    await before.close()
    installation = await openThisPlatform()
  }
  const stopChecking = isCheckDue && options.runStead ? startDatabaseCheck(options.runStead, log) : null
  const stopWaiting = startRunner(first.isStandby ? [{ name: 'adopt', everyMs: ADOPT_MS, run: adopt }] : [], log)

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
      await listeners.stop()
      await stopWaiting()
      await installation?.close({ stopAgents })
      await traces?.close()
      unlock()
    },
  }
}

/**
 * Takes back a restore that was broken off, and checks a small database.
 * @returns whether a check of a large one is due. @throws StartupError
 */
function requireUsableData(config: Config): boolean {
  undoUnfinished(config.dataDir)
  requireFinished(config.dataDir)
  return requireWhole(config)
}

/**
 * The thread that carries out `fetch` begins with the first call, and ends the whole process when it finds no file
 * descriptors for its event loop: that must be before strangers can connect. Nobody listens at this path.
 */
async function startFetchThread(): Promise<void> {
  await fetch('http://localhost/', { unix: '/nobody', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).catch(() => null)
}

/** Those that need no key. */
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
