import { createSealer } from '../core/secrets.ts'
import { openAccounts } from '../features/accounts/open.ts'
import { createLogTail } from '../features/admin/logs/log-tail.ts'
import { openAdmin } from '../features/admin/open.ts'
import { openAgents } from '../features/agents/open.ts'
import { openAi } from '../features/ai/open.ts'
import type { Base } from '../features/base.ts'
import { openConversations } from '../features/conversations/open.ts'
import { countQuestions } from '../features/monitoring/metrics/agent-stats.ts'
import { openMonitoring } from '../features/monitoring/open.ts'
import { openPayments } from '../features/payments/open.ts'
import { openWebTools } from '../features/web-tools/open.ts'
import { createJobQueue } from '../jobs/queue.ts'
import { createLiveShelf } from './backups/store.ts'
import { connectUpwards, type PlatformParts } from './platform-parts.ts'
import { refuseAgentJobs } from './standby.ts'

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

  const upwards = connectUpwards(base, parts)
  const accounts = { ...base, ...openAccounts(base, settings, upwards.accounts) }
  const agents = { ...accounts, ...openAgents(base, settings, accounts, upwards.agents) }
  const ai = { ...agents, ...openAi(base, settings, agents, upwards.ai) }
  const payments = {
    ...ai,
    ...openPayments(base, settings, { countQuestions: (agentId) => countQuestions(db, agentId), standsBack }),
  }
  const conversations = { ...payments, ...openConversations(base, settings, payments) }
  const webTools = { ...conversations, ...openWebTools(base, settings, payments) }
  const monitoring = { ...webTools, ...openMonitoring(base, settings, conversations, bound.countUnderWay) }
  const admin = {
    ...monitoring,
    ...openAdmin(base, settings, {
      connection,
      // What is ordered on a copy would never be done.
      runStead: standsBack ? null : (parts.runStead ?? null),
      openLiveShelf: (readPlace) => createLiveShelf(readPlace, settings.backups),
      shownSettings: parts.shownSettings ?? [],
      logTail: parts.logTail ?? createLogTail(),
      canRetry: queue.canRetry,
    }),
  }

  const close = () => {
    // Its last writes find no database: a server has waited for them before.
    void conversations.turns.close()
    const parsers = [webTools.pages, webTools.git, webTools.pdf, webTools.mailReader, ai.tokens]
    for (const part of [agents.changes, ...parsers, monitoring.exposition]) part.close()
    void webTools.workspaceLinks.close()
    connection.close()
  }
  return { accounts, agents, ai, payments, conversations, webTools, monitoring, admin, queue, close }
}
