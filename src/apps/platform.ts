import { createSealer } from '../core/secrets.ts'
import { openAgents } from '../features/agents/open.ts'
import type { Base } from '../features/base.ts'
import { createLogTail } from '../features/house/logs/log-tail.ts'
import { openHouse } from '../features/house/open.ts'
import { openModels } from '../features/models/open.ts'
import { openMoney } from '../features/money/open.ts'
import { openPeople } from '../features/people/open.ts'
import { openTalk } from '../features/talk/open.ts'
import { countQuestions } from '../features/views/metrics/agent-stats.ts'
import { openViews } from '../features/views/open.ts'
import { openWebTools } from '../features/web-tools/open.ts'
import { createJobQueue } from '../jobs/queue.ts'
import { createLiveShelf } from './backups/shelf.ts'
import { connectUpwards, type PlatformParts } from './platform-parts.ts'
import { refuseAgentJobs } from './stand-back.ts'

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
  const people = { ...base, ...openPeople(base, settings, upwards.people) }
  const agents = { ...people, ...openAgents(base, settings, people, upwards.agents) }
  const models = { ...agents, ...openModels(base, settings, agents, upwards.models) }
  const money = {
    ...models,
    ...openMoney(base, settings, { countQuestions: (agentId) => countQuestions(db, agentId), standsBack }),
  }
  const talk = { ...money, ...openTalk(base, settings, money) }
  const webTools = { ...talk, ...openWebTools(base, settings, money) }
  const views = { ...webTools, ...openViews(base, settings, talk, bound.countUnderWay) }
  const house = {
    ...views,
    ...openHouse(base, settings, {
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
    void talk.turns.close()
    const parsers = [webTools.pages, webTools.git, webTools.pdf, webTools.mailReader, models.tokens]
    for (const part of [agents.changes, ...parsers, views.exposition]) part.close()
    void webTools.workspaceLinks.close()
    connection.close()
  }
  return { people, agents, models, money, talk, webTools, views, house, queue, close }
}
