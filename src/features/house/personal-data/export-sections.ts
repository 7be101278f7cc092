import { asc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { bytesOf, inPages } from '../../../db/in-pages.ts'
import type { Db } from '../../../db/open.ts'
import { installations } from '../../agents/installations/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import { callsInPages } from '../../models/usage/call-pages.ts'
import type { AccountSettings } from '../../people/accounts/settings.ts'
import { auditLog } from '../../people/audit/tables.ts'
import { invites } from '../../people/invites/tables.ts'
import { apiKeys } from '../../people/keys/tables.ts'
import { identities, wallets } from '../../people/sign-in/tables.ts'
import { emailTokens, referrals, sessions } from '../../people/users/tables.ts'
import { agentCredentials, agentSkills } from '../../talk/agent-talk/tables.ts'
import { chatSessions, messages } from '../../talk/chat/tables.ts'
import { heartbeats } from '../../talk/heartbeat/tables.ts'
import { inboxMessages } from '../../talk/inbox/tables.ts'
import { memoryInPages } from '../../talk/memory/read.ts'
import { scheduledRuns, scheduledTasks } from '../../talk/scheduled-tasks/tables.ts'
import { swarmAnswers, swarmRuns, swarms } from '../../talk/swarms/tables.ts'
import { radioStreams } from '../../web-tools/radio/tables.ts'
import { videos } from '../../web-tools/video/tables.ts'

/** One list of the document, a page of rows at a time. */
type Section = { name: string; pages(db: Db, userId: string, until: Date): Generator<unknown[], void> }

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

/** In the order of the document. Lists that grow with use are read in pages. */
export const SECTIONS: readonly Section[] = [
  {
    name: 'sessions',
    pages: (db, userId) =>
      inPages(db, {
        table: sessions,
        condition: eq(sessions.userId, userId),
        read: (isOnPage) =>
          db
            .select({
              createdAt: sessions.createdAt,
              lastSeenAt: sessions.lastSeenAt,
              expiresAt: sessions.expiresAt,
              userAgent: sessions.userAgent,
              address: sessions.address,
            })
            .from(sessions)
            .where(isOnPage)
            .all(),
      }),
  },
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
  {
    name: 'referrals',
    *pages(db, userId) {
      const show = ({ newUserId, credits, createdAt }: typeof referrals.$inferSelect) => ({
        wasReferred: newUserId === userId,
        credits,
        createdAt,
      })
      const read = (isOnPage: SQL | undefined) => db.select().from(referrals).where(isOnPage).all().map(show)
      yield read(eq(referrals.newUserId, userId))
      yield* inPages(db, { table: referrals, condition: eq(referrals.referrerId, userId), read })
    },
  },
  {
    name: 'invites',
    pages: (db, userId) =>
      inPages(db, {
        table: invites,
        condition: eq(invites.createdBy, userId),
        read: (isOnPage) =>
          db.select({ createdAt: invites.createdAt, usedAt: invites.usedAt }).from(invites).where(isOnPage).all(),
      }),
  },
  {
    name: 'agents',
    pages: (db, userId) =>
      inPages(db, {
        table: agents,
        condition: eq(agents.ownerId, userId),
        read: (isOnPage) =>
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
            .where(isOnPage)
            .all(),
      }),
  },
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
  {
    name: 'scheduledTasks',
    pages: (db, userId) =>
      inPages(db, {
        table: scheduledTasks,
        condition: eq(scheduledTasks.ownerId, userId),
        sizeBytes: bytesOf(scheduledTasks.prompt, scheduledTasks.description),
        read: (isOnPage) =>
          db
            .select()
            .from(scheduledTasks)
            .where(isOnPage)
            .all()
            .map(({ ownerId: _, ...task }) => task),
      }),
  },
  {
    name: 'scheduledRuns',
    pages: (db, userId) =>
      inPages(db, {
        table: scheduledRuns,
        condition: eq(scheduledRuns.ownerId, userId),
        sizeBytes: bytesOf(scheduledRuns.prompt, scheduledRuns.error),
        read: (isOnPage) =>
          db
            .select()
            .from(scheduledRuns)
            .where(isOnPage)
            .all()
            .map(({ sequence: _, ownerId: __, ...run }) => run),
      }),
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
    pages: (db, userId) =>
      inPages(db, {
        table: swarmRuns,
        condition: eq(swarmRuns.ownerId, userId),
        sizeBytes: swarmRunBytes(),
        read: (isOnPage) => withAnswers(db, db.select().from(swarmRuns).where(isOnPage).all()),
      }),
  },
  {
    name: 'memory',
    pages: (db, userId) =>
      ofEachAgent(db, userId, function* (agentId) {
        for (const rows of memoryInPages(db, agentId)) {
          yield rows.map(({ value, ...kept }) => ({ ...kept, value: JSON.parse(value) }))
        }
      }),
  },
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
  {
    name: 'videos',
    pages: (db, userId) =>
      inPages(db, {
        table: videos,
        condition: eq(videos.userId, userId),
        read: (isOnPage) =>
          db
            .select()
            .from(videos)
            .where(isOnPage)
            .all()
            .map(({ userId: _, ...video }) => video),
      }),
  },
  {
    name: 'chatSessions',
    pages: (db, userId) =>
      inPages(db, {
        table: chatSessions,
        condition: eq(chatSessions.userId, userId),
        read: (isOnPage) =>
          db
            .select()
            .from(chatSessions)
            .where(isOnPage)
            .all()
            .map(({ sequence: _, userId: __, ...session }) => session),
      }),
  },
  {
    name: 'inbox',
    pages: (db, userId) =>
      ofEachAgent(db, userId, (agentId) =>
        inPages(db, {
          table: inboxMessages,
          condition: eq(inboxMessages.agentId, agentId),
          sizeBytes: bytesOf(inboxMessages.text, inboxMessages.reply),
          read: (isOnPage) =>
            db
              .select()
              .from(inboxMessages)
              .where(isOnPage)
              .all()
              .map(({ sequence: _, ...mail }) => mail),
        }),
      ),
  },
  {
    name: 'messages',
    pages: (db, userId) =>
      inPages(db, {
        table: messages,
        condition: eq(messages.userId, userId),
        sizeBytes: bytesOf(messages.content),
        read: (isOnPage) =>
          db
            .select()
            .from(messages)
            .where(isOnPage)
            .all()
            .map(({ sequence: _, userId: __, ...message }) => message),
      }),
  },
  {
    name: 'usage',
    *pages(db, userId, until) {
      const calls = callsInPages(db, userId, { from: new Date(0), until })
      for (const rows of calls) yield rows.map(({ userId: _, ...call }) => call)
    },
  },
  {
    name: 'audit',
    // What the account did itself, and then what was done to it: each has an index of its own.
    *pages(db, userId) {
      const read = (isOnPage: SQL | undefined) => db.select().from(auditLog).where(isOnPage).all()
      const own = inPages(db, { table: auditLog, condition: eq(auditLog.actor, userId), read })
      for (const lines of own) yield lines.map((line) => toOwnLine(line, userId))
      const about = inPages(db, { table: auditLog, condition: eq(auditLog.target, userId), read })
      for (const lines of about) {
        yield lines.filter(({ actor }) => actor !== userId).map((line) => toOwnLine(line, userId))
      }
    },
  },
]

function withAnswers(db: Db, runs: (typeof swarmRuns.$inferSelect)[]) {
  const isOfRun = inArray(
    swarmAnswers.runId,
    runs.map(({ id }) => id),
  )
  const answers = db.select().from(swarmAnswers).where(isOfRun).orderBy(asc(swarmAnswers.position)).all()
  const byRun = Map.groupBy(answers, ({ runId }) => runId)
  return runs.map(({ sequence: _, ownerId: __, ...run }) => ({
    ...run,
    answers: (byRun.get(run.id) ?? []).map(({ runId: _, position: __, ...answer }) => answer),
  }))
}

/** A list that is small by nature: one page holds it. */
function whole(name: string, list: (db: Db, userId: string) => unknown[]): Section {
  return {
    name,
    *pages(db, userId) {
      yield list(db, userId)
    },
  }
}

function* ofEachAgent(db: Db, userId: string, pages: (agentId: string) => Generator<unknown[], void>) {
  const own = db.select({ id: agents.id }).from(agents).where(eq(agents.ownerId, userId))
  for (const { id } of own.all()) yield* pages(id)
}

/** A run with its answers. */
function swarmRunBytes(): SQL<number> {
  const ofAnswers = sql`SELECT total(octet_length(${swarmAnswers.message}) + coalesce(octet_length(${swarmAnswers.reply}), 0))
    FROM ${swarmAnswers} WHERE ${swarmAnswers.runId} = ${swarmRuns.id}`
  return sql<number>`${bytesOf(swarmRuns.task, swarmRuns.summary)} + (${ofAnswers})`
}

/** What was done to the account by others is told without saying by whom and from where. */
function toOwnLine(line: typeof auditLog.$inferSelect, userId: string) {
  const isOwn = line.actor === userId
  const { action, detail, createdAt } = line
  return { by: isOwn ? 'you' : 'another', action, detail, address: isOwn ? line.address : null, createdAt }
}
