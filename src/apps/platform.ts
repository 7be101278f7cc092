import type { AiProvider } from '../adapters/models/provider.ts'
import type { TokenCounter } from '../adapters/models/token-counter.ts'
import type { Runtime } from '../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../adapters/runtimes/contract/runtimes.ts'
import type { Config } from '../core/config.ts'
import { createSealer } from '../core/secrets.ts'
import type { ShownSetting } from '../core/settings/show.ts'
import type { Connection, Tx } from '../db/open.ts'
import { openAgents } from '../features/agents/open.ts'
import type { Base } from '../features/base.ts'
import type { RunStead } from '../features/house/backups/run-backup.ts'
import { openHouse } from '../features/house/open.ts'
import { takeOver } from '../features/house/take-over/take-over.ts'
import { openModels } from '../features/models/open.ts'
import type { OpenProvider } from '../features/models/own-keys/own-keys.ts'
import { copyKeyUsage } from '../features/models/usage/key-usage.ts'
import { createClonePaymentBooks } from '../features/money/ledger/clone-payments.ts'
import { createGrantCredits } from '../features/money/ledger/credits.ts'
import { openMoney } from '../features/money/open.ts'
import { createWallet } from '../features/money/wallets/create.ts'
import { openPeople } from '../features/people/open.ts'
import type { PasswordCost } from '../features/people/passwords/passwords.ts'
import { clearMemory } from '../features/talk/memory/forget.ts'
import { createMemoryInstruction } from '../features/talk/memory/instruct.ts'
import { openTalk } from '../features/talk/open.ts'
import { countQuestions } from '../features/views/metrics/agent-stats.ts'
import { openViews } from '../features/views/open.ts'
import type { UnderWay } from '../features/views/watching/exposition.ts'
import { openWebTools } from '../features/web-tools/open.ts'
import type { Face } from '../http/env.ts'
import { createJobQueue } from '../jobs/queue.ts'
import { createShelf } from './backups/shelf.ts'
import { gatewayOf, refuseAgentJobs } from './stand-back.ts'

/** What differs between a server, a test and a command line: everything else is made here. */
export type PlatformParts = Pick<Base, 'clock' | 'log' | 'fetch'> & {
  config: Config
  connection: Connection
  encryptionKey: string
  /** Tests alone hand in less than `PASSWORD_COST`. */
  passwordCost: PasswordCost
  runtimes: Runtimes
  /** A copy speaks to no agent, asks nothing to be done to one, and provisions none. */
  standsBack: boolean
  providers: AiProvider[]
  /** Where the listeners are; `urlForAgents` leads to the backend from wherever the agents of a runtime are. */
  bound: {
    webUrl: string
    webPort: number
    urlForAgents: (runtime: Runtime) => Promise<string>
    countUnderWay: () => Record<Face, UnderWay>
  }
  /** Opens a provider with a user's own key. */
  openProvider: OpenProvider
  /** Runs this program beside this process; nothing does in tests. */
  runStead?: RunStead | null
  /** The settings in effect, as admins see them. */
  shownSettings?: readonly ShownSetting[]
  /** Counts tokens in place of the platform's own counter. */
  tokens?: TokenCounter
}

export type Platform = ReturnType<typeof openPlatform>

/**
 * Opens the wings from the ground up. Each stands on the parts of those below it, and a room gets those of its wing; what a
 * lower wing sets off in a higher one is handed to it as a function. Closing the platform closes the database as well.
 */
export function openPlatform(parts: PlatformParts) {
  const { clock, log, fetch, connection, passwordCost, standsBack, bound } = parts
  const { db } = connection
  const queue = createJobQueue({ db, clock, log })
  const enqueue = standsBack ? refuseAgentJobs(queue.enqueue) : queue.enqueue
  const base: Base = { db, clock, log, sealer: createSealer(parts.encryptionKey), enqueue, fetch }
  const settings = { ...parts.config, passwordCost, appUrl: parts.config.appUrl ?? bound.webUrl }

  const forPeople = {
    takeOver: (tx: Tx, userId: string) => takeOver(tx, base, userId),
    copyKeyUsage,
    grantCredits: createGrantCredits(base),
  }
  const forAgents = {
    ...parts,
    ...bound,
    gateway: gatewayOf(parts),
    clearMemory,
    bookClonePayment: createClonePaymentBooks(base),
    openAgentWallet: async (userId: string, agentId: string) => {
      const { wallet } = await createWallet(base, { userId, agentId })
      return wallet.address
    },
  }
  const forModels = { ...parts, instruct: createMemoryInstruction(db) }

  const people = { ...base, ...openPeople(base, settings, forPeople) }
  const agents = { ...people, ...openAgents(base, settings, people, forAgents) }
  const models = { ...agents, ...openModels(base, settings, agents, forModels) }
  const money = {
    ...models,
    ...openMoney(base, settings, { countQuestions: (agentId) => countQuestions(db, agentId) }),
  }
  const talk = { ...money, ...openTalk(base, settings, money) }
  const webTools = { ...talk, ...openWebTools(base, settings, money) }
  const views = { ...webTools, ...openViews(base, settings, talk, bound.countUnderWay) }
  const house = {
    ...views,
    ...openHouse(settings, {
      connection,
      // What is ordered on a copy would never be done.
      runStead: standsBack ? null : (parts.runStead ?? null),
      shelf: createShelf(settings.backups),
      shownSettings: parts.shownSettings ?? [],
      canRetry: queue.canRetry,
    }),
  }

  const close = () => {
    // Its last writes find no database: a server has waited for them before.
    void talk.turns.close()
    for (const part of [agents.changes, webTools.pages, models.tokens, webTools.git, views.exposition]) part.close()
    void webTools.workspaceLinks.close()
    connection.close()
  }
  return { people, agents, models, money, talk, webTools, views, house, queue, close }
}
