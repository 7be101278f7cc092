import { and, asc, eq, gt, or } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import { auditLog } from '../administration/tables.ts'
import { agentCredentials, agentSkills } from '../agent-talk/tables.ts'
import { agents } from '../agents/tables.ts'
import { chatSessions, messages } from '../chat/tables.ts'
import { heartbeats } from '../heartbeat/tables.ts'
import { inboxMessages } from '../inbox/tables.ts'
import { installations } from '../installations/tables.ts'
import { invites } from '../invites/tables.ts'
import { apiKeys } from '../keys/tables.ts'
import { listRowsOfUser } from '../memory/read.ts'
import { radioStreams } from '../radio/tables.ts'
import { scheduledRuns, scheduledTasks } from '../scheduled-tasks/tables.ts'
import { identities, wallets } from '../sign-in/tables.ts'
import { swarmAnswers, swarmRuns, swarms } from '../swarms/tables.ts'
import { usageLogs } from '../usage/tables.ts'
import { videos } from '../video/tables.ts'
import type { AccountSettings } from './settings.ts'
import { emailTokens, referrals, sessions } from './tables.ts'

/** Rows that are in memory at once. */
const PAGE = 500

type Page = { rows: unknown[]; next: number | null }

/** One list of the document. `read` gives the rows whose number is above `after`, and where to go on, or null. */
export type Section = { name: string; read(db: Db, userId: string, after: number): Page }

/** The account itself: no hash, no secret. */
export function toAccount({ user, pendingEmail }: AccountSettings) {
  return {
    id: user.id,
    email: user.email,
    emailVerifiedAt: user.emailVerifiedAt,
    pendingEmail,
    name: user.name,
    plan: user.plan,
    subscriptionStatus: user.subscriptionStatus,
    subscriptionId: user.subscriptionId,
    credits: user.credits,
    referralCode: user.referralCode,
    hasPassword: user.passwordHash !== null,
    twoFactorEnabledAt: user.twoFactorEnabledAt,
    externalSignInDisabledAt: user.externalSignInDisabledAt,
    notifications: user.notifications,
    createdAt: user.createdAt,
    updatedAt: user.updatedAt,
  }
}

/** In the order of the document. Lists that grow with use are read in pages, by their row number. */
export const SECTIONS: readonly Section[] = [
  whole('sessions', (db, userId) =>
    db
      .select({
        createdAt: sessions.createdAt,
        lastSeenAt: sessions.lastSeenAt,
        expiresAt: sessions.expiresAt,
        userAgent: sessions.userAgent,
        address: sessions.address,
      })
      .from(sessions)
      .where(eq(sessions.userId, userId))
      .orderBy(asc(sessions.createdAt))
      .all(),
  ),
  whole('keys', (db, userId) =>
    db
      .select({
        id: apiKeys.id,
        name: apiKeys.name,
        prefix: apiKeys.prefix,
        scopes: apiKeys.scopes,
        createdAt: apiKeys.createdAt,
        lastUsedAt: apiKeys.lastUsedAt,
        expiresAt: apiKeys.expiresAt,
        disabledAt: apiKeys.disabledAt,
      })
      .from(apiKeys)
      .where(eq(apiKeys.userId, userId))
      .orderBy(asc(apiKeys.createdAt))
      .all(),
  ),
  whole('identities', (db, userId) =>
    db
      .select({
        provider: identities.provider,
        issuer: identities.issuer,
        subject: identities.subject,
        email: identities.email,
        createdAt: identities.createdAt,
        lastUsedAt: identities.lastUsedAt,
      })
      .from(identities)
      .where(eq(identities.userId, userId))
      .all(),
  ),
  whole('wallets', (db, userId) =>
    db
      .select({ chainId: wallets.chainId, address: wallets.address, createdAt: wallets.createdAt })
      .from(wallets)
      .where(eq(wallets.userId, userId))
      .all(),
  ),
  whole('mailedLinks', (db, userId) =>
    db
      .select({ purpose: emailTokens.purpose, email: emailTokens.email, expiresAt: emailTokens.expiresAt })
      .from(emailTokens)
      .where(eq(emailTokens.userId, userId))
      .all(),
  ),
  whole('referrals', (db, userId) =>
    db
      .select()
      .from(referrals)
      .where(or(eq(referrals.newUserId, userId), eq(referrals.referrerId, userId)))
      .all()
      .map(({ newUserId, credits, createdAt }) => ({ wasReferred: newUserId === userId, credits, createdAt })),
  ),
  whole('invites', (db, userId) =>
    db
      .select({ createdAt: invites.createdAt, usedAt: invites.usedAt })
      .from(invites)
      .where(eq(invites.createdBy, userId))
      .all(),
  ),
  whole('agents', (db, userId) =>
    db
      .select({
        id: agents.id,
        name: agents.name,
        model: agents.model,
        plan: agents.plan,
        aiProvider: agents.aiProvider,
        status: agents.status,
        startedAt: agents.startedAt,
        createdAt: agents.createdAt,
        updatedAt: agents.updatedAt,
      })
      .from(agents)
      .where(eq(agents.ownerId, userId))
      .orderBy(asc(agents.createdAt))
      .all(),
  ),
  whole('installations', (db, userId) =>
    db
      .select({
        name: installations.name,
        mode: installations.mode,
        gatewayUrl: installations.gatewayUrl,
        status: installations.status,
        registeredAt: installations.registeredAt,
        lastSeenAt: installations.lastSeenAt,
      })
      .from(installations)
      .where(eq(installations.ownerId, userId))
      .orderBy(asc(installations.registeredAt))
      .all(),
  ),
  whole('scheduledTasks', (db, userId) =>
    db
      .select()
      .from(scheduledTasks)
      .where(eq(scheduledTasks.ownerId, userId))
      .orderBy(asc(scheduledTasks.createdAt))
      .all()
      .map(({ ownerId: _, ...task }) => task),
  ),
  {
    name: 'scheduledRuns',
    read: (db, userId, after) =>
      toPage(
        db
          .select()
          .from(scheduledRuns)
          .where(and(eq(scheduledRuns.ownerId, userId), gt(scheduledRuns.sequence, after)))
          .orderBy(asc(scheduledRuns.sequence))
          .limit(PAGE + 1)
          .all(),
        ({ sequence }) => sequence,
        ({ sequence: _, ownerId: __, ...run }) => run,
      ),
  },
  whole('heartbeat', (db, userId) =>
    db
      .select()
      .from(heartbeats)
      .where(eq(heartbeats.userId, userId))
      .all()
      .map(({ userId: _, everyMs: __, ...settings }) => settings),
  ),
  whole('swarms', (db, userId) =>
    db
      .select()
      .from(swarms)
      .where(eq(swarms.ownerId, userId))
      .orderBy(asc(swarms.sequence))
      .all()
      .map(({ sequence: _, ownerId: __, ...swarm }) => swarm),
  ),
  {
    name: 'swarmRuns',
    read: (db, userId, after) =>
      toPage(
        db
          .select()
          .from(swarmRuns)
          .where(and(eq(swarmRuns.ownerId, userId), gt(swarmRuns.sequence, after)))
          .orderBy(asc(swarmRuns.sequence))
          .limit(PAGE + 1)
          .all(),
        ({ sequence }) => sequence,
        ({ sequence: _, ownerId: __, ...run }) => ({ ...run, answers: answersOf(db, run.id) }),
      ),
  },
  whole('memory', (db, userId) =>
    listRowsOfUser(db, userId).map(({ value, ...kept }) => ({ ...kept, value: JSON.parse(value) })),
  ),
  whole('skills', (db, userId) =>
    db
      .select({ id: agentSkills.skillId, enabled: agentSkills.enabled, updatedAt: agentSkills.updatedAt })
      .from(agentSkills)
      .where(eq(agentSkills.userId, userId))
      .all(),
  ),
  whole('credentials', (db, userId) =>
    db
      .select({ key: agentCredentials.key, updatedAt: agentCredentials.updatedAt })
      .from(agentCredentials)
      .where(eq(agentCredentials.userId, userId))
      .all(),
  ),
  whole('radioStreams', (db, userId) =>
    db
      .select()
      .from(radioStreams)
      .where(eq(radioStreams.userId, userId))
      .all()
      .map(({ userId: _, ...stream }) => stream),
  ),
  whole('videos', (db, userId) =>
    db
      .select()
      .from(videos)
      .where(eq(videos.userId, userId))
      .orderBy(asc(videos.createdAt))
      .all()
      .map(({ userId: _, ...video }) => video),
  ),
  {
    name: 'chatSessions',
    read: (db, userId, after) =>
      toPage(
        db
          .select()
          .from(chatSessions)
          .where(and(eq(chatSessions.userId, userId), gt(chatSessions.sequence, after)))
          .orderBy(asc(chatSessions.sequence))
          .limit(PAGE + 1)
          .all(),
        ({ sequence }) => sequence,
        ({ sequence: _, userId: __, ...session }) => session,
      ),
  },
  {
    name: 'inbox',
    read: (db, userId, after) =>
      toPage(
        db
          .select({ mail: inboxMessages })
          .from(inboxMessages)
          .innerJoin(agents, eq(agents.id, inboxMessages.agentId))
          .where(and(eq(agents.ownerId, userId), gt(inboxMessages.sequence, after)))
          .orderBy(asc(inboxMessages.sequence))
          .limit(PAGE + 1)
          .all(),
        ({ mail }) => mail.sequence,
        ({ mail: { sequence: _, ...mail } }) => mail,
      ),
  },
  {
    name: 'messages',
    read: (db, userId, after) =>
      toPage(
        db
          .select()
          .from(messages)
          .where(and(eq(messages.userId, userId), gt(messages.sequence, after)))
          .orderBy(asc(messages.sequence))
          .limit(PAGE + 1)
          .all(),
        ({ sequence }) => sequence,
        ({ sequence: _, userId: __, ...message }) => message,
      ),
  },
  {
    name: 'usage',
    read: (db, userId, after) =>
      toPage(
        db
          .select()
          .from(usageLogs)
          .where(and(eq(usageLogs.userId, userId), gt(usageLogs.id, after)))
          .orderBy(asc(usageLogs.id))
          .limit(PAGE + 1)
          .all(),
        ({ id }) => id,
        ({ userId: _, ...call }) => call,
      ),
  },
  {
    name: 'audit',
    read: (db, userId, after) =>
      toPage(
        db
          .select()
          .from(auditLog)
          .where(and(or(eq(auditLog.actor, userId), eq(auditLog.target, userId)), gt(auditLog.id, after)))
          .orderBy(asc(auditLog.id))
          .limit(PAGE + 1)
          .all(),
        ({ id }) => id,
        (line) => toOwnLine(line, userId),
      ),
  },
]

function answersOf(db: Db, runId: string) {
  const answers = db
    .select()
    .from(swarmAnswers)
    .where(eq(swarmAnswers.runId, runId))
    .orderBy(asc(swarmAnswers.position))
  return answers.all().map(({ runId: _, position: __, ...answer }) => answer)
}

/** A list that is small by nature: one page holds it. */
function whole(name: string, list: (db: Db, userId: string) => unknown[]): Section {
  return { name, read: (db, userId) => ({ rows: list(db, userId), next: null }) }
}

/** `rows` has one more than a page when there is another one. */
function toPage<Row>(rows: Row[], numberOf: (row: Row) => number, show: (row: Row) => unknown): Page {
  const page = rows.slice(0, PAGE)
  const last = page.at(-1)
  return { rows: page.map(show), next: last && rows.length > PAGE ? numberOf(last) : null }
}

/** What was done to the account by others is told without saying by whom and from where. */
function toOwnLine(line: typeof auditLog.$inferSelect, userId: string) {
  const isOwn = line.actor === userId
  const { action, detail, createdAt } = line
  return { by: isOwn ? 'you' : 'another', action, detail, address: isOwn ? line.address : null, createdAt }
}
