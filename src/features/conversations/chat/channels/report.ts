import type { Clock } from '../../../../core/clock.ts'
import type { Db } from '../../../../db/open.ts'
import { write } from '../../../../db/write.ts'
import { getAgent } from '../../../agents/registry/agents.ts'
import type { StorageQuota } from '../../../agents/storage/quota.ts'
import { recordChannelAnswer, recordChannelLine } from './record.ts'
import type { ChannelReport } from './schemas.ts'

export type ReportDeps = { db: Db; clock: Clock; storage: Pick<StorageQuota, 'within'> }

/**
 * Stores what an agent reports of its messengers. A report may come again: every entry is stored once.
 * @returns the number of entries that are stored now.
 * @throws AppError `not_found` for a missing agent, `storage_full` when its owner has no space for a message of a person:
 * the entries before it are stored. Answers are stored in any case, because they were paid for.
 */
export async function storeReport(deps: ReportDeps, agentId: string, { entries }: ChannelReport): Promise<number> {
  const agent = getAgent(deps.db, { kind: 'operator' }, agentId)
  for (const entry of entries) {
    await write(deps.db, (tx) => {
      const at = new Date(entry.at)
      if (entry.type === 'answer') {
        const { question, text, type: _, ...answer } = entry
        recordChannelAnswer(deps, tx, agent, { ...answer, questionId: question, content: text, at })
        return
      }
      const { id, session, text, type: _, ...line } = entry
      const store = () =>
        recordChannelLine(deps, tx, agent, { ...line, externalId: id, channelKey: session, content: text, at })
      if (line.sender === 'agent') store()
      else deps.storage.within(tx, agent.ownerId, store)
    })
  }
  return entries.length
}
