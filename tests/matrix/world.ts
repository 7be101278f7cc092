import { eq } from 'drizzle-orm'
import { createEchoProvider } from '../../src/adapters/ai-echo.ts'
import type { Runtime } from '../../src/adapters/runtime.ts'
import { createApp } from '../../src/apps/app.ts'
import { randomText } from '../../src/core/ids.ts'
import { sha256 } from '../../src/core/secrets.ts'
import type { Tx } from '../../src/db/open.ts'
import { write } from '../../src/db/write.ts'
import { issueEmailToken } from '../../src/features/accounts/email-tokens.ts'
import { createRecoveryCodes, replaceRecoveryCodes } from '../../src/features/accounts/recovery-codes.ts'
import { insertUser } from '../../src/features/accounts/register.ts'
import { sessions, type UserRow, users } from '../../src/features/accounts/tables.ts'
import { recordAudit } from '../../src/features/administration/audit.ts'
import { insertAgent, openTokens } from '../../src/features/agents/create.ts'
import { agents } from '../../src/features/agents/tables.ts'
import { messages } from '../../src/features/chat/tables.ts'
import { deployments } from '../../src/features/deployments/tables.ts'
import { insertKey, newKey } from '../../src/features/keys/create.ts'
import { apiKeys } from '../../src/features/keys/tables.ts'
import { identities } from '../../src/features/sign-in/tables.ts'
import { usageDays, usageLogs } from '../../src/features/usage/tables.ts'
import type { Face } from '../../src/http/env.ts'
import { jobs } from '../../src/jobs/tables.ts'
import { dumpTables } from '../harness/dump.ts'
import { startJobs } from '../harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../harness/platform.ts'
import { until } from '../harness/until.ts'
import { countChanges, rememberRows } from './rewind.ts'

export const PASSWORD = 'correct horse battery staple'
const NAMES = ['owner', 'stranger', 'admin', 'closed'] as const
type Name = (typeof NAMES)[number]

/** Somebody with one row in every table that belongs to a user, all of which hold `canary`. */
export type Person = {
  id: string
  email: string
  canary: string
  session: string
  otherSessionId: string
  endedSession: string
  key: string
  keyId: string
  readingKey: string
  agentId: string
  agentToken: string
}

export type World = Awaited<ReturnType<typeof openWorld>>

let passwordHash: Promise<string> | undefined

/** A platform with four people who have something of everything; `ports` are where their agents listen. */
export async function openWorld(runtime: Runtime, ports: Readonly<Record<Name, number>>) {
  const { platform, clock, logLines } = testPlatform({
    runtime,
    providers: [createEchoProvider({ newId: () => 'echo_1', nowSeconds: () => 1 })],
    environment: {
      ADMIN_EMAILS: emailOf('admin'),
      AGENTS_BASE_PORT: '41000',
      DOCKER_HOST: '/nowhere/docker.sock',
      SOCIAL_ID_ISSUER: 'http://127.0.0.1:1',
      SOCIAL_ID_AUDIENCE: 'stead',
    },
  })
  passwordHash ??= platform.passwords.hash(PASSWORD)
  const hash = await passwordHash
  const secrets: string[] = [INTERNAL_KEY, PASSWORD, hash]
  const people = await write(platform.db, (tx) => {
    const join = (name: Name) => addPerson(tx, name, { hash, port: ports[name] })
    return { owner: join('owner'), stranger: join('stranger'), admin: join('admin'), closed: join('closed') }
  })
  const app = createApp(platform, new Map([['/index.html', new Blob(['<!doctype html>'], { type: 'text/html' })]]))
  const rewind = await rememberRows(platform.db)
  const unchanged = { rows: rows(), changes: countChanges(platform.db) }
  await platform.catalogue.refresh(AbortSignal.timeout(5000))
  const working = startJobs(platform)
  return {
    platform,
    logLines,
    people,
    /** What no answer may hold, whoever asks: tokens, keys, hashes and sealed values. */
    secrets,
    call: async (face: Face, path: string, init: RequestInit) =>
      app.fetch(new Request(`http://localhost:3000${path}`, init), { face, address: '203.0.113.7' }),
    /** Is any row another than at the beginning? Not counted: an ended session, which goes with whoever shows it. */
    hasChanged: () => {
      const changes = countChanges(platform.db)
      if (changes === unchanged.changes) return false
      unchanged.changes = changes
      return rows() !== unchanged.rows
    },
    /** Puts every row back, once the work that is under way has ended. */
    rewind: async () => {
      await until('the end of all jobs', () => !/"(queued|running)"/.test(jobRows()))
      await rewind()
      unchanged.changes = countChanges(platform.db)
    },
    [Symbol.asyncDispose]: () => working[Symbol.asyncDispose](),
  }

  function rows(): string {
    const ended = sha256(people.owner.endedSession)
    return dumpTables(platform.db)
      .split('\n')
      .filter((row) => !row.includes(ended))
      .join('\n')
  }

  function jobRows(): string {
    return JSON.stringify(platform.db.select({ status: jobs.status }).from(jobs).all())
  }

  function addPerson(tx: Tx, name: Name, given: { hash: string; port: number }): Person {
    const canary = `canary${name}q7`
    const now = clock.now()
    const row = { email: emailOf(name), name: canary, passwordHash: given.hash }
    const user = insertUser(tx, row, { now, plan: 'network' })
    const change = { notifications: { canary }, disabledAt: name === 'closed' ? now : null }
    tx.update(users).set(change).where(eq(users.id, user.id)).run()
    const agent = addAgent(tx, user, canary, given.port)
    addTraces(tx, user, canary, agent.id)
    const [session, other, endedSession] = [randomText(43), randomText(43), randomText(43)]
    for (const token of [session, other, endedSession]) {
      const expiresAt = new Date(now.getTime() + (token === endedSession ? 0 : 1e9))
      const visitor = { userAgent: canary, address: canary }
      const tokenHash = sha256(token)
      tx.insert(sessions)
        .values({ ...visitor, tokenHash, userId: user.id, createdAt: now, lastSeenAt: now, expiresAt })
        .run()
      secrets.push(token, tokenHash)
    }
    const [key, readingKey] = [newKey(), newKey()]
    const keyRow = { userId: user.id, name: canary, createdAt: now, expiresAt: null }
    const { id: keyId } = insertKey(tx, key, { ...keyRow, scopes: [] })
    insertKey(tx, readingKey, { ...keyRow, scopes: ['read'] })
    // Used a moment ago: to note a use again would be a change of its own.
    tx.update(apiKeys).set({ lastUsedAt: now }).run()
    secrets.push(key, readingKey, sha256(key), sha256(readingKey), agent.token)
    return {
      id: user.id,
      email: user.email,
      canary,
      session,
      otherSessionId: sha256(other).slice(0, 16),
      endedSession,
      key,
      keyId,
      readingKey,
      agentId: agent.id,
      agentToken: agent.token,
    }
  }

  function addAgent(tx: Tx, user: UserRow, canary: string, port: number) {
    const kind = { name: canary, model: canary, plan: 'label', aiProvider: 'openrouter', status: 'running' } as const
    const agent = insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: user.id })
    tx.update(agents).set({ port }).where(eq(agents.id, agent.id)).run()
    const step = { step: 'running', error: canary, requestedAt: clock.now() } as const
    tx.insert(deployments)
      .values({ agentId: agent.id, ...step })
      .run()
    const tokens = openTokens(platform.sealer, agent)
    secrets.push(tokens.gatewayToken, agent.gatewayToken, agent.accessToken, agent.accessTokenHash)
    return { id: agent.id, token: tokens.accessToken }
  }

  function addTraces(tx: Tx, user: UserRow, canary: string, agentId: string): void {
    const now = clock.now()
    const userId = user.id
    const said = { userId, agentId, content: canary, topic: canary, status: 'sent', createdAt: now } as const
    tx.insert(messages)
      .values({ ...said, id: `msg_${canary}`, sender: 'user' })
      .run()
    const refreshToken = platform.sealer.seal(`refresh-${canary}`, 'matrix')
    const external = { issuer: 'https://idp.example', subject: canary, provider: 'idp-b', email: user.email } as const
    tx.insert(identities)
      .values({ ...external, userId, refreshToken, createdAt: now, lastUsedAt: now })
      .run()
    tx.insert(usageLogs).values({ userId, agentId, model: canary, errorMessage: canary, createdAt: now }).run()
    const used = { model: canary, inputTokens: 7, outputTokens: 7, costMicroUsd: 7, calls: 1 }
    tx.insert(usageDays)
      .values({ userId, agentId, day: now.toISOString().slice(0, 10), ...used })
      .run()
    recordAudit(tx, { actor: userId, action: 'test.canary', target: userId, detail: { canary } }, now)
    const codes = createRecoveryCodes()
    replaceRecoveryCodes(tx, userId, codes)
    const link = issueEmailToken(tx, { userId, purpose: 'reset-password', email: user.email }, now)
    secrets.push(refreshToken, `refresh-${canary}`, link, sha256(link), ...codes)
  }
}

function emailOf(name: Name): string {
  return `canary${name}q7@example.com`
}
