import { dirname, join } from 'node:path'
import { eq } from 'drizzle-orm'
import type { ProxyRules } from '../adapters/egress/proxy/forward-proxy.ts'
import { createHttpProvider } from '../adapters/models/http-provider.ts'
import type { AiProvider } from '../adapters/models/provider.ts'
import { distributeOverKeys, parseWeightedKeys } from '../adapters/models/weighted-keys.ts'
import { openObjects } from '../adapters/objects/open-objects.ts'
import type { RuntimeName } from '../adapters/runtimes/contract/runtime.ts'
import { readInstanceLocation } from '../adapters/runtimes/process/place.ts'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { errorMessage } from '../core/errors.ts'
import { randomText } from '../core/ids.ts'
import type { Log } from '../core/log.ts'
import { createSealer } from '../core/secrets.ts'
import { readOrCreate } from '../core/text/read-or-create.ts'
import { countRows } from '../db/count-rows.ts'
import type { Connection, Db } from '../db/open.ts'
import { startCheckpoints } from '../db/wal/checkpoints.ts'
import { write } from '../db/write.ts'
import { noteKey, readKeptKey } from '../features/accounts/encryption/master-key.ts'
import { keepClusterWebhookKey } from '../features/accounts/notifications/webhook-key.ts'
import { requireDefaultPlan, takePlansOfFile } from '../features/accounts/own-plans/own-plans.ts'
import { PASSWORD_COST } from '../features/accounts/passwords/passwords.ts'
import { createConfiguredOwner, issueSetupLink, type SetupLink } from '../features/accounts/registration/setup.ts'
import { forgetTunnels } from '../features/agents/installations/tunnel-state.ts'
import {
  claimOwnership,
  findStandbyReason,
  hasRunContainers,
  type LocatedInstance,
} from '../features/agents/ownership/ownership.ts'
import { reconcileAgents } from '../features/agents/reconciliation/reconcile.ts'
import { isAssigned } from '../features/agents/registry/agents.ts'
import { agents } from '../features/agents/registry/tables.ts'
import { catalogueJob } from '../features/ai/catalogue/catalogue.ts'
import type { OpenProvider } from '../features/ai/own-keys/own-keys.ts'
import { freeLeases } from '../jobs/queue.ts'
import { startRunner } from '../jobs/runner.ts'
import { createAgentProxy } from './agent-proxy.ts'
import { createApp } from './app.ts'
import { createFindWaiting, sweepRestoredStates, toRestoredStates } from './backups/restored-states.ts'
import { sweepBackups } from './backups/staging.ts'
import type { ClusterNode } from './cluster/node.ts'
import { createClusterRouter } from './cluster/router.ts'
import { openDashboard } from './dashboard.ts'
import { openMigrated } from './database.ts'
import { jobKinds, repeatingJobs } from './jobs.ts'
import type { ServedApps } from './listeners/listen.ts'
import { openPlatform, type Platform } from './platform.ts'
import type { PlatformParts } from './platform-parts.ts'
import { openRuntimes } from './runtime.ts'
import { createStandbyRuntimes } from './standby.ts'

/** Time limit for refreshing model lists after a change of settings; the next regular refresh follows anyway. */
const CATALOGUE_MS = 10_000

/** Parts of a server; `agent` is the command and environment of agents that run as processes. */
export type ServerParts = Pick<
  PlatformParts,
  'encryptionKey' | 'providers' | 'bound' | 'runStead' | 'shownSettings' | 'logTail' | 'traceGateway'
> & {
  config: Config
  log: Log
  agent: { command: readonly [string, ...string[]]; path: string; lang: string }
  /** The cluster that this node belongs to; null for a single node. */
  cluster: ClusterNode | null
  /** Traces the calls of a provider that is opened later. */
  trace: (provider: AiProvider) => AiProvider
}

/** Everything behind the listeners. `runtimeName` is the runtime of new agents. */
export type OpenServer = ServedApps & {
  runtimeName: RuntimeName
  /** Link that creates the first account; null when an account exists. */
  setupLink: SetupLink | null
  isStandby: boolean
  /** Decides about requests to the egress proxy; null while this node serves nothing. */
  egressRules: ProxyRules | null
  /** Ids of the configured model providers. */
  listProviders(): string[]
  /** Applies changed provider settings. */
  reload(): void
  /** Returns the number of running agents. */
  countRunning(): number
  /** Returns whether an operator has since assigned the agents to this standby server (`stead adopt`). */
  wasTakenOver(): boolean
  close(options?: { stopAgents?: boolean }): Promise<void>
}

/**
 * Opens the database and the runtimes, and starts the jobs. A copy of an installation that runs elsewhere is opened on
 * standby, without runtimes and jobs: it serves all data and touches no agent.
 * @throws StartupError when the database cannot be opened or migrated.
 */
export async function openServer(parts: ServerParts): Promise<OpenServer> {
  const { config, cluster } = parts
  const { connection, isCurrent } = openMigrated(config.databaseFile, config.dataDir, cluster)
  try {
    return isCurrent || !cluster ? await openOn(connection, parts) : openForwarding(connection, parts, cluster)
  } catch (error) {
    connection.close()
    throw error
  }
}

/** A node whose file lacks migrations answers nothing itself until the leader has them too. */
function openForwarding(connection: Connection, { encryptionKey, log }: ServerParts, cluster: ClusterNode): OpenServer {
  const notReady = () => Response.json({ error: 'Starting' }, { status: 503, headers: { 'retry-after': '1' } })
  return {
    app: { fetch: notReady },
    agentProxy: { agentOf: () => null, answer: async () => notReady() },
    router: createClusterRouter(cluster, createSealer(encryptionKey).deriveKey('cluster'), log),
    runtimeName: 'swarm',
    setupLink: null,
    egressRules: null,
    isStandby: false,
    listProviders: () => [],
    reload: () => undefined,
    countRunning: () => 0,
    wasTakenOver: () => false,
    close: async () => connection.close(),
  }
}

async function openOn(connection: Connection, parts: ServerParts): Promise<OpenServer> {
  const { config, log, encryptionKey, cluster } = parts
  const { db } = connection
  const isFollower = cluster?.role() === 'follower'
  if (!isFollower) {
    const sealer = createSealer(encryptionKey)
    await write(db, (tx) => {
      noteKey(tx, sealer)
      if (cluster) keepClusterWebhookKey(tx, sealer, config.dataDir)
    })
    await preparePlans(db, parts)
  }
  await sweepBackups(config).catch((error) =>
    log.warn({ error: errorMessage(error) }, 'cannot remove leftovers of backups'),
  )
  const here = toHere(config)
  const objection = cluster ? null : await claimOwnership(db, here)
  if (objection !== null) log.warn(`Standby: ${objection}. Agents are not started or stopped.`)
  // A follower starts no jobs or agents: the leader runs them.
  const isStandby = objection !== null || isFollower
  const runtimes = isStandby
    ? createStandbyRuntimes(config.agents)
    : await openOwnRuntimes(parts, db, cluster?.clusterId ?? here.instance)
  const platform = openPlatform({
    ...parts,
    clock: systemClock,
    fetch,
    connection,
    passwordCost: PASSWORD_COST,
    runtimes,
    isStandby,
    openProvider: (id, apiKey, custom) => {
      const provider = openProviderOf(config, id, apiKey, custom)
      return provider && parts.trace(provider)
    },
  })
  // In a cluster these writes can fail, so they come before anything that would have to be stopped.
  const setupLink = isStandby ? null : await prepareFirstAccount(platform, config)
  const runtimeName = await runtimes.choose()
  const checkpoints = startCheckpoints({ sqlite: connection.sqlite, file: config.databaseFile, log })
  const jobs = isStandby ? startIdleJobs(platform) : await startJobs(platform)
  return {
    app: createApp(platform, openDashboard()),
    agentProxy: createAgentProxy(platform.agents),
    runtimeName,
    router: cluster && createClusterRouter(cluster, createSealer(encryptionKey).deriveKey('cluster'), log),
    setupLink,
    isStandby: objection !== null,
    egressRules: platform.agents.egressEnforcement.proxyRules,
    listProviders: () => platform.ai.serviceProviders.all.map(({ id }) => id),
    reload() {
      platform.ai.serviceProviders.reload()
      platform.ai.catalogue.rebuild()
      void platform.ai.catalogue.refresh(AbortSignal.timeout(CATALOGUE_MS))
    },
    countRunning: () => countRows(db, agents, eq(agents.status, 'running')),
    wasTakenOver: () => objection !== null && findStandbyReason(db, here) === null,
    async close(options) {
      await jobs.stop()
      await platform.conversations.turns.close()
      await platform.ai.spendings.endAll()
      await platform.ai.bodyLog.flush()
      await platform.agents.egressEnforcement.blocks.flush()
      await runtimes.close(options)
      await checkpoints.stop()
      platform.close()
    },
  }
}

/** Loads `PLANS_FILE`. @throws StartupError when `DEFAULT_PLAN` names no plan. */
async function preparePlans(db: Db, { config: { plans }, log }: ServerParts): Promise<void> {
  for (const plan of await takePlansOfFile({ db, clock: systemClock, plans })) {
    log.warn({ plan }, 'a plan left PLANS_FILE and accounts have it: it stays, and the dashboard can change it')
  }
  requireDefaultPlan(db, plans.byDefault)
}

/** Creates the administrator of the settings. @returns a setup link when no account exists. */
async function prepareFirstAccount({ accounts }: Platform, { firstAdmin }: Config): Promise<SetupLink | null> {
  if (firstAdmin) await createConfiguredOwner(accounts, firstAdmin)
  return issueSetupLink(accounts)
}

/** Returns the location of this installation. @throws StartupError when its folder cannot be used. */
export function toHere({ dataDir, databaseFile }: Pick<Config, 'dataDir' | 'databaseFile'>): LocatedInstance {
  return { place: readInstanceLocation(dataDir), databaseFile, instance: readOrCreateInstance(dataDir) }
}

async function openOwnRuntimes({ config, log, encryptionKey, agent }: ServerParts, db: Db, instance: string) {
  const dir = join(config.dataDir, 'agents')
  const restoredStates = toRestoredStates(config.dataDir)
  await sweepRestoredStates(db, restoredStates)
  return openRuntimes({
    config: config.agents,
    instance,
    digestKey: readKeptKey(db, createSealer(encryptionKey), 'spec-digest').toString('hex'),
    clock: systemClock,
    log,
    restoredStates,
    keptStates: { db, clock: systemClock, objects: openObjects(config.objects) },
    findWaiting: createFindWaiting(db),
    hasRunContainers: () => hasRunContainers(db),
    process: {
      dir,
      hidden: [config.dataDir, dirname(config.databaseFile)],
      ...agent,
      mayStart: (id) => isAssigned(db, id, 'process'),
    },
  })
}

async function startJobs(platform: Platform): Promise<{ stop(): Promise<void> }> {
  const { agents, ai, queue } = platform
  const { db, clock, log } = agents
  await freeLeases(db, clock)
  await forgetTunnels(agents)
  await ai.usageSpool.recover().catch((error) => log.error(`[UsageLogger] Failed to log usage: ${errorMessage(error)}`))
  // Before any request, so that a client joining a turn finds it.
  platform.conversations.turns.resume()
  queue.start(jobKinds(platform))
  const stopRunner = startRunner(repeatingJobs(platform), log)
  const first = new AbortController()
  const atStart = Promise.all([reconcileAgents(agents, first.signal), ai.catalogue.refresh(first.signal)]).catch(
    (error) => {
      if (!first.signal.aborted) log.error({ error: errorMessage(error) }, 'start-up work failed')
    },
  )
  return {
    async stop() {
      first.abort()
      await Promise.all([queue.stop(), stopRunner(), atStart])
    },
  }
}

/** A standby server sends no mail, payment or prompt: the original does. */
function startIdleJobs({ ai }: Platform): { stop(): Promise<void> } {
  return { stop: startRunner([catalogueJob(ai)], ai.log) }
}

/** Opens a provider at the given address, or a configured one, with one or several keys; null when there is no such provider. */
function openProviderOf({ ai }: Config, ...[id, apiKey, given]: Parameters<OpenProvider>): AiProvider | null {
  const baseUrl = given?.baseUrl ?? ai.providers.find((provider) => provider.id === id)?.baseUrl
  const timeoutMs = ai.attemptTimeoutMs
  if (!baseUrl) return null
  const open = (key: string) =>
    createHttpProvider({ id, baseUrl, apiKey: key, dialects: given?.dialects, timeoutMs }, { fetch })
  return distributeOverKeys(parseWeightedKeys(apiKey), open, () => performance.now())
}

/**
 * Returns the id that distinguishes this installation in a shared container engine; creates it at the first call. It is
 * not a secret.
 * @throws StartupError when it cannot be read or created.
 */
export function readOrCreateInstance(dataDir: string): string {
  return readOrCreate(join(dataDir, 'instance.id'), 'DATA_DIR', () => randomText(12).toLowerCase())
}
