import { asc, eq, getTableColumns, inArray, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db } from '../../db/open.ts'
import { bytesOf, inPages } from '../../db/pages.ts'
import { type PersonalList, personalRows } from '../../db/personal-data.ts'
import { inPagesOfAgents } from '../agents/registry/agents.ts'
import { agentRevisions } from '../agents/revisions/tables.ts'
import { agentDayCounts } from '../ai/breakers/tables.ts'
import { agentCredentials } from './agent-messages/tables.ts'
import { agentTests } from './agent-tests/tables.ts'
import { agentToolSettings } from './agent-tools/tables.ts'
import { approvals } from './approvals/tables.ts'
import { chatAttachments, chatSessions, chatToolCalls, chatTurns, messages } from './chat/tables.ts'
import { heartbeats } from './heartbeat/tables.ts'
import { inboxMessages } from './inbox/tables.ts'
import { agentMcpServers, mcpAuthorizations } from './mcp-servers/tables.ts'
import { memoryInPages } from './memory/read.ts'
import { agentMemory } from './memory/tables.ts'
import { scheduledRuns, scheduledTasks } from './scheduled-tasks/tables.ts'
import { swarmAnswers, swarmRuns, swarms } from './swarms/tables.ts'

/** The account's data that this domain stores, without hashes and sealed secrets. */
export const CONVERSATIONS_PERSONAL_DATA: readonly PersonalList[] = [
  personalRows('scheduledTasks', scheduledTasks, {
    of: scheduledTasks.ownerId,
    hide: ['ownerId'],
    sizeBytes: bytesOf(scheduledTasks.prompt, scheduledTasks.description),
  }),
  personalRows('scheduledRuns', scheduledRuns, {
    of: scheduledRuns.ownerId,
    hide: ['sequence', 'ownerId'],
    sizeBytes: bytesOf(scheduledRuns.prompt, scheduledRuns.error),
  }),
  personalRows('heartbeat', heartbeats, { of: heartbeats.userId, hide: ['userId', 'everyMs'] }),
  personalRows('swarms', swarms, { of: swarms.ownerId, hide: ['sequence', 'ownerId'] }),
  { name: 'swarmRuns', tables: [swarmRuns], pages: listSwarmRuns },
  { name: 'memory', tables: [agentMemory], pages: listFacts },
  rowsOfAgents('approvals', approvals, {
    of: approvals.agentId,
    hide: ['sequence', 'argumentsHash'],
    sizeBytes: bytesOf(approvals.arguments),
  }),
  rowsOfAgents('injectionTests', agentTests, {
    of: agentTests.agentId,
    hide: ['sequence'],
    sizeBytes: bytesOf(agentTests.results),
  }),
  rowsOfAgents('configurationHistory', agentRevisions, {
    of: agentRevisions.agentId,
    hide: ['sealedSecrets'],
    sizeBytes: bytesOf(agentRevisions.config, agentRevisions.instructions),
  }),
  rowsOfAgents('dayCounts', agentDayCounts, { of: agentDayCounts.agentId, hide: [] }),
  rowsOfAgents('toolSettings', agentToolSettings, { of: agentToolSettings.agentId, hide: [] }),
  rowsOfAgents('mcpServers', agentMcpServers, { of: agentMcpServers.agentId, hide: ['sealedHeaders'] }),
  rowsOfAgents('mcpAuthorizations', mcpAuthorizations, {
    of: mcpAuthorizations.agentId,
    hide: ['sealed', 'issuer', 'renewingUntil'],
  }),
  personalRows('credentials', agentCredentials, { of: agentCredentials.userId, show: ['key', 'updatedAt'] }),
  personalRows('chatSessions', chatSessions, { of: chatSessions.userId, hide: ['sequence', 'userId'] }),
  rowsOfAgents('inbox', inboxMessages, {
    of: inboxMessages.agentId,
    hide: ['sequence'],
    sizeBytes: bytesOf(inboxMessages.text, inboxMessages.reply),
  }),
  personalRows('messages', messages, {
    of: messages.userId,
    hide: ['sequence', 'userId'],
    sizeBytes: bytesOf(messages.content),
  }),
  { name: 'chatTurns', tables: [chatTurns, chatToolCalls], pages: listTurns },
  personalRows('chatAttachments', chatAttachments, {
    of: chatAttachments.userId,
    hide: ['sequence', 'userId'],
    sizeBytes: bytesOf(chatAttachments.excerpt),
  }),
]

/** As `personalRows`, for a table whose column `of` holds the id of an agent of the account. */
function rowsOfAgents<Table extends SQLiteTable>(
  name: string,
  table: Table,
  {
    of,
    hide,
    sizeBytes,
  }: { of: SQLiteColumn; hide: readonly (keyof Table['_']['columns'])[]; sizeBytes?: SQL<number> },
): PersonalList {
  const isShown = ([column]: [string, unknown]) => !hide.some((hidden) => hidden === column)
  const columns = Object.fromEntries(Object.entries(getTableColumns(table)).filter(isShown))
  return {
    name,
    tables: [table],
    pages: (db, userId) =>
      inPagesOfAgents(db, userId, (agentId) =>
        inPages(db, {
          table,
          condition: eq(of, agentId),
          ...(sizeBytes && { sizeBytes }),
          read: (isOnPage) => db.select(columns).from<SQLiteTable>(table).where(isOnPage).all(),
        }),
      ),
  }
}

function listFacts(db: Db, userId: string): Generator<unknown[], void> {
  return inPagesOfAgents(db, userId, function* (agentId) {
    for (const rows of memoryInPages(db, agentId)) {
      yield rows.map(({ sequence: _, value, ...fact }) => ({ ...fact, value: JSON.parse(value) }))
    }
  })
}

/** Lists turns with their tool calls; the texts are in the messages. */
function listTurns(db: Db, userId: string): Generator<unknown[], void> {
  const { arguments: input, result, turnId, start } = chatToolCalls
  return inPages(db, {
    table: chatTurns,
    condition: eq(chatTurns.userId, userId),
    sizeBytes: sql<number>`(SELECT total(${bytesOf(input, result)}) FROM ${chatToolCalls} WHERE ${turnId} = ${chatTurns.id})`,
    read: (isOnPage) => {
      const turns = db.select().from(chatTurns).where(isOnPage).all()
      const isOfTurn = inArray(
        turnId,
        turns.map(({ id }) => id),
      )
      const calls = db.select().from(chatToolCalls).where(isOfTurn).orderBy(asc(turnId), asc(start)).all()
      const byTurn = Map.groupBy(calls, (call) => call.turnId)
      return turns.map(({ sequence: _, userId: __, sessionKey: ___, ...turn }) => ({
        ...turn,
        toolCalls: (byTurn.get(turn.id) ?? []).map(({ turnId: _, start: __, ...call }) => call),
      }))
    },
  })
}

/** Lists swarm runs with their answers. */
function listSwarmRuns(db: Db, userId: string): Generator<unknown[], void> {
  const { message, reply, runId, position } = swarmAnswers
  const ofAnswers = sql`SELECT total(octet_length(${message}) + coalesce(octet_length(${reply}), 0))
    FROM ${swarmAnswers} WHERE ${runId} = ${swarmRuns.id}`
  return inPages(db, {
    table: swarmRuns,
    condition: eq(swarmRuns.ownerId, userId),
    sizeBytes: sql<number>`${bytesOf(swarmRuns.task, swarmRuns.summary)} + (${ofAnswers})`,
    read: (isOnPage) => {
      const runs = db.select().from(swarmRuns).where(isOnPage).all()
      const isOfRun = inArray(
        runId,
        runs.map(({ id }) => id),
      )
      const answers = db.select().from(swarmAnswers).where(isOfRun).orderBy(asc(position)).all()
      const byRun = Map.groupBy(answers, (answer) => answer.runId)
      return runs.map(({ sequence: _, ownerId: __, ...run }) => ({
        ...run,
        answers: (byRun.get(run.id) ?? []).map(({ runId: _, position: __, ...answer }) => answer),
      }))
    },
  })
}
