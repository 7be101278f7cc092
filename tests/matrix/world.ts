import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { and, eq, lte, or } from 'drizzle-orm'
import { createEchoProvider } from '../../src/adapters/models/echo.ts'
import type { Runtime } from '../../src/adapters/runtimes/contract/runtime.ts'
import { randomText } from '../../src/core/ids.ts'
import { sha256 } from '../../src/core/secrets.ts'
import type { Tx } from '../../src/db/open.ts'
import { write } from '../../src/db/write.ts'
import { recordAudit } from '../../src/features/accounts/audit/audit.ts'
import { insertKey, newKey } from '../../src/features/accounts/keys/keys.ts'
import { apiKeys } from '../../src/features/accounts/keys/tables.ts'
import { issueEmailToken } from '../../src/features/accounts/notifications/email-tokens.ts'
import { noticeChannels, notices } from '../../src/features/accounts/notifications/tables.ts'
import { insertUser } from '../../src/features/accounts/registration/register.ts'
import { identities } from '../../src/features/accounts/sign-in/tables.ts'
import { createRecoveryCodes, replaceRecoveryCodes } from '../../src/features/accounts/two-factor/codes.ts'
import { sessions, type UserRow, users } from '../../src/features/accounts/users/tables.ts'
import { installations } from '../../src/features/agents/installations/tables.ts'
import { appendLines } from '../../src/features/agents/logs/store.ts'
import { deploymentHistory, deployments } from '../../src/features/agents/operations/tables.ts'
import { insertAgent, openTokens } from '../../src/features/agents/registry/agents.ts'
import { changeSettings } from '../../src/features/agents/registry/config.ts'
import { agents } from '../../src/features/agents/registry/tables.ts'
import { agentVerifications, verificationChallenges } from '../../src/features/agents/verification/tables.ts'
import { requestBodies, usageDays, usageLogs } from '../../src/features/ai/usage/tables.ts'
import { chatSessions, messages } from '../../src/features/conversations/chat/tables.ts'
import { heartbeats } from '../../src/features/conversations/heartbeat/tables.ts'
import { scheduledRuns, scheduledTasks } from '../../src/features/conversations/scheduled-tasks/tables.ts'
import { swarmAnswers, swarmRuns, swarms } from '../../src/features/conversations/swarms/tables.ts'
import { managedWallets, walletPayments } from '../../src/features/payments/wallets/tables.ts'
import { gitCredentials } from '../../src/features/web-tools/browse/tables.ts'
import type { ApiName } from '../../src/http/env.ts'
import { jobs } from '../../src/jobs/tables.ts'
import { createApp } from '../../src/server/app.ts'
import { requireDocumented } from '../harness/documents/documented.ts'
import { startMuxDouble } from '../harness/doubles/mux.ts'
import { startJobs } from '../harness/jobs.ts'
import { INTERNAL_KEY, type TestOptions, testPlatform } from '../harness/platform.ts'
import { findAgentPorts } from '../harness/ports.ts'
import { prepareDump } from '../harness/rows/dump.ts'
import { addTalkTraces } from '../harness/rows/talk-traces.ts'
import { until } from '../harness/until.ts'
import { prepareCountOfChanges, rememberRows } from './rewind.ts'

export const PASSWORD = 'correct horse battery staple'
const NAMES = ['owner', 'stranger', 'admin', 'closed'] as const
type Name = (typeof NAMES)[number]

/** A user with one row in every personal table, all containing `canary`. */
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
  installationId: string
  agentId: string
  agentToken: string
  gatewayToken: string
}

export type World = Awaited<ReturnType<typeof openWorld>>

let passwordHash: Promise<string> | undefined

/** IP address of all callers. */
const ADDRESS = '203.0.113.7'

function toLocal(path: string, init: RequestInit): Request {
  return new Request(`http://localhost:3000${path}`, init)
}

/**
 * Creates a platform with four users who have a row in every table. `ports` are those of their agents; `options`
 * override the world's.
 */
export async function openWorld(
  runtime: Runtime,
  ports: Readonly<Record<Name, number>>,
  { databaseFile = ':memory:', ...options }: Omit<TestOptions, 'runtime'> = {},
) {
  const mux = startMuxDouble()
  const agentsBasePort = await findAgentPorts()
  const { platform, clock, logLines } = testPlatform({
    runtime,
    databaseFile,
    providers: [createEchoProvider({ newId: () => 'echo_1', nowSeconds: () => 1 })],
    ...options,
    environment: {
      ADMIN_EMAILS: emailOf('admin'),
      AGENTS_BASE_PORT: String(agentsBasePort),
      WATCHDOG_KILL_WAIT: '0.01',
      DOCKER_HOST: '/nowhere/docker.sock',
      METRICS_TOKEN: 'the token of whoever watches',
      SOCIAL_ID_ISSUER: 'http://127.0.0.1:1',
      SOCIAL_ID_AUDIENCE: 'stead',
      ...mux.environment,
      ...options.environment,
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
  const dump = prepareDump(platform.db)
  const countChanges = prepareCountOfChanges(platform.db)
  const unchanged = { rows: rows(), changes: countChanges() }
  await platform.catalogue.refresh(AbortSignal.timeout(60_000))
  const working = startJobs(platform)
  let calls = 0
  return {
    platform,
    logLines,
    people,
    /** Base URL of paid services other than models and video. */
    muxUrl: mux.environment.RADIO_API_URL,
    /** First port of agents created in this world; no service of a test listens there. */
    agentsBasePort,
    /** Patterns that no response may contain: tokens, keys, hashes and encrypted values. */
    secrets,
    call: async (api: ApiName, path: string, init: RequestInit) => {
      const request = toLocal(path, init)
      // One IP address per request, because the matrix sends more wrong credentials than one address may.
      calls += 1
      const address = `10.${calls >> 16}.${(calls >> 8) & 255}.${calls & 255}`
      const response = await app.fetch(request, { api, address })
      await requireDocumented(app, api, request, response)
      // Rows are restored, files are not: delete the repository before the next caller.
      if (path.includes('git-init')) removeRepositories()
      return response
    },
    /** Like `call`, without checks of the response, for measurements. */
    send: async (api: ApiName, path: string, init: RequestInit) =>
      app.fetch(toLocal(path, init), { api, address: ADDRESS }),
    /** Returns deleted, added and changed rows. Ignores expired sessions, which are deleted when presented. */
    findChanges: (): string[] => {
      const changes = countChanges()
      if (changes === unchanged.changes) return []
      unchanged.changes = changes
      return [...new Set(rows()).symmetricDifference(new Set(unchanged.rows))]
    },
    /** Waits until all pending work has ended and all usage is recorded. */
    idle,
    hasDueJobs,
    /** Restores every row when the platform is idle. */
    rewind: async () => {
      await idle()
      await rewind()
      unchanged.changes = countChanges()
    },
    [Symbol.asyncDispose]: async () => {
      await working[Symbol.asyncDispose]()
      await mux.stop()
    },
  }

  function removeRepositories(): void {
    for (const { agentId } of Object.values(people))
      rmSync(join(workspaceOf(agentId), '.git'), { recursive: true, force: true })
  }

  function workspaceOf(agentId: string): string {
    return join(platform.agentsFolder, agentId, 'state', 'workspace')
  }

  function rows(): string[] {
    const ended = sha256(people.owner.endedSession)
    return dump()
      .split('\n')
      .filter((row) => !row.includes(ended))
  }

  async function idle(): Promise<void> {
    await until('the end of all jobs that are due', () => !hasDueJobs())
    await platform.usage.settle()
  }

  function hasDueJobs(): boolean {
    const isDue = and(eq(jobs.status, 'queued'), lte(jobs.runAt, clock.now()))
    return (
      platform.db
        .select()
        .from(jobs)
        .where(or(eq(jobs.status, 'running'), isDue))
        .get() !== undefined
    )
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
    // Recently used, because updating the time of the last use would be a change.
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
      installationId: addInstallation(tx, user, canary),
      agentId: agent.id,
      agentToken: agent.token,
      gatewayToken: agent.gatewayToken,
    }
  }

  function addAgent(tx: Tx, user: UserRow, canary: string, port: number) {
    const kind = { name: canary, model: canary, plan: 'label', aiProvider: 'openrouter', status: 'running' } as const
    const agent = insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: user.id })
    tx.update(agents).set({ port }).where(eq(agents.id, agent.id)).run()
    const telegramToken = `1:telegram-${canary}`
    const { secretConfig } = changeSettings({ clock, sealer: platform.sealer }, tx, agent, {
      telegramToken,
      brain: canary,
    })
    secrets.push(telegramToken, secretConfig ?? telegramToken)
    const proved = {
      type: 'ens',
      verifierAddress: canary,
      metadata: { name: canary },
      verifiedAt: clock.now(),
    } as const
    tx.insert(agentVerifications)
      .values({ agentId: agent.id, ...proved })
      .run()
    const asked = { message: canary, expiresAt: clock.now() }
    tx.insert(verificationChallenges)
      .values({ agentId: agent.id, ...asked })
      .run()
    const step = { step: 'running', error: canary, requestedAt: clock.now() } as const
    tx.insert(deployments)
      .values({ agentId: agent.id, ...step })
      .run()
    appendLines(tx, agent.id, [{ at: clock.now(), stream: 'stdout', text: canary }], { before: null, after: canary })
    const reported = { error: canary, logTail: canary, requestedBy: user.id, requestedAt: clock.now() }
    const past = { kind: 'deploy', step: 'done', result: 'succeeded', statusBefore: 'pending' } as const
    tx.insert(deploymentHistory)
      .values({ agentId: agent.id, ...past, ...reported })
      .run()
    const tokens = openTokens(platform.sealer, agent)
    addWorkspace(tx, agent.id, canary)
    secrets.push(tokens.gatewayToken, agent.gatewayToken, agent.accessToken, agent.accessTokenHash)
    return { id: agent.id, token: tokens.accessToken, gatewayToken: tokens.gatewayToken }
  }

  function addInstallation(tx: Tx, user: UserRow, canary: string): string {
    const now = clock.now()
    const gatewayToken = platform.sealer.seal(`gateway-${canary}`, `installations:gatewayToken:ins_${canary}`)
    const machine = { id: `ins_${canary}`, userId: user.id, ownerId: user.id, name: canary, gatewayUrl: null }
    const seen = { mode: 'home', status: 'active', registeredAt: now, lastSeenAt: now } as const
    tx.insert(installations)
      .values({ ...machine, ...seen, gatewayToken })
      .run()
    secrets.push(gatewayToken, `gateway-${canary}`)
    return machine.id
  }

  function addWorkspace(tx: Tx, agentId: string, canary: string): void {
    const folder = workspaceOf(agentId)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'notes.txt'), canary)
    const sealedPassword = platform.sealer.seal(`git-${canary}`, `git_credentials:${agentId}:https://git.example.com`)
    tx.insert(gitCredentials)
      .values({
        workspace: agentId,
        agentId,
        origin: 'https://git.example.com',
        username: canary,
        sealedPassword,
        updatedAt: clock.now(),
      })
      .run()
    secrets.push(`git-${canary}`, sealedPassword)
  }

  function addSwarm(tx: Tx, { userId, canary, agentId }: Record<'userId' | 'canary' | 'agentId', string>): void {
    const now = clock.now()
    const swarm = { id: `swarm_${canary}`, ownerId: userId, name: canary, agents: [agentId] }
    tx.insert(swarms)
      .values({ ...swarm, createdAt: now, updatedAt: now })
      .run()
    const run = { id: `run_${canary}`, swarmId: swarm.id, ownerId: userId, task: canary, summary: canary }
    tx.insert(swarmRuns)
      .values({ ...run, state: 'running', startedAt: now })
      .run()
    const answer = { runId: run.id, agentId, agentName: canary, position: 0, message: canary, reply: canary }
    tx.insert(swarmAnswers)
      .values({ ...answer, state: 'running' })
      .run()
  }

  function addTraces(tx: Tx, user: UserRow, canary: string, agentId: string): void {
    const now = clock.now()
    const userId = user.id
    const said = { userId, agentId, content: canary, topic: canary, status: 'sent', createdAt: now } as const
    tx.insert(chatSessions)
      .values({
        id: `sess_telegram-${canary}`,
        userId,
        agentId,
        platform: 'telegram',
        channelKey: 'telegram:7',
        createdAt: now,
        lastActivity: now,
      })
      .run()
    tx.insert(messages)
      .values({ ...said, id: `msg_${canary}`, sender: 'user' })
      .run()
    addSchedule(tx, userId, canary, agentId)
    addSwarm(tx, { userId, canary, agentId })
    const refreshToken = platform.sealer.seal(
      `refresh-${canary}`,
      `identities:refreshToken:https://idp.example:${canary}`,
    )
    const sealed = platform.sealer.seal(`credential-${canary}`, `agent_credentials:${userId}:openai`)
    addWallet(tx, { userId, canary, agentId })
    addNotices(tx, userId, canary)
    addTalkTraces(tx, { userId, agentId, canary, sealed, now })
    const external = { issuer: 'https://idp.example', subject: canary, provider: 'idp-b', email: user.email } as const
    tx.insert(identities)
      .values({ ...external, userId, refreshToken, createdAt: now, lastUsedAt: now })
      .run()
    const generationId = `gen_${canary}`
    tx.insert(usageLogs)
      .values({ userId, agentId, model: canary, errorMessage: canary, generationId, createdAt: now })
      .run()
    tx.insert(requestBodies).values({ generationId, userId, request: canary, answer: canary, createdAt: now }).run()
    const used = { model: canary, inputTokens: 7, outputTokens: 7, costMicroUsd: 7, calls: 1 }
    tx.insert(usageDays)
      .values({ userId, agentId, day: now.toISOString().slice(0, 10), ...used })
      .run()
    recordAudit(tx, { actor: userId, action: 'test.canary', target: userId, detail: { canary } }, now)
    const codes = createRecoveryCodes()
    replaceRecoveryCodes(tx, userId, codes)
    const link = issueEmailToken(tx, { userId, purpose: 'reset-password', email: user.email }, now)
    secrets.push(sealed, refreshToken, `refresh-${canary}`, link, sha256(link), ...codes)
  }

  function addNotices(tx: Tx, userId: string, canary: string): void {
    const createdAt = clock.now()
    const id = `nch_${canary}`
    const url = `https://discord.invalid/${sha256(`webhook of ${canary}`)}`
    const sealedRecipient = platform.sealer.seal(JSON.stringify({ kind: 'discord', url }), `notice_channels:${id}`)
    const shown = { kind: 'discord', name: canary, destination: canary } as const
    tx.insert(noticeChannels)
      .values({ ...shown, kinds: [], id, userId, sealedRecipient, createdAt })
      .run()
    const notice = { id: `ntc_${canary}`, kind: 'task_failed', text: canary } as const
    tx.insert(notices)
      .values({ ...notice, userId, createdAt, toldAt: createdAt })
      .run()
    secrets.push(url, sealedRecipient)
  }

  function addWallet(tx: Tx, { userId, canary, agentId }: Record<'userId' | 'canary' | 'agentId', string>): void {
    const createdAt = clock.now()
    const id = `wal_${canary}`
    const key = `0x${sha256(canary)}`
    const sealedKey = platform.sealer.seal(key, `managed_wallets:${id}`)
    const address = `0x${sha256(`address of ${canary}`).slice(0, 40)}`
    tx.insert(managedWallets).values({ id, kind: 'agent', userId, agentId, address, sealedKey, createdAt }).run()
    const order = { purpose: canary, reference: canary, currency: 'USDC', recipient: canary, reason: canary }
    tx.insert(walletPayments)
      .values({
        ...order,
        id: `pay_${canary}`,
        kind: 'transfer',
        walletId: id,
        userId,
        agentId,
        amountMicroUsd: 7,
        status: 'failed',
        createdAt,
      })
      .run()
    secrets.push(key, sealedKey)
  }

  function addSchedule(tx: Tx, userId: string, canary: string, agentId: string): void {
    const now = clock.now()
    const task = { id: `task_${canary}`, name: canary, prompt: canary, description: canary, timezone: 'UTC' }
    const dates = { createdAt: now, updatedAt: now }
    tx.insert(scheduledTasks)
      .values({ ...task, ...dates, ownerId: userId, agentId, cronSchedule: '0 9 * * *', enabled: false })
      .run()
    const run = { ownerId: userId, agentId, taskId: task.id, trigger: 'manual', dueAt: now, error: canary } as const
    tx.insert(scheduledRuns)
      .values({ ...run, id: `run_${canary}`, status: 'failed' })
      .run()
    tx.insert(heartbeats)
      .values({ userId, agentId, frequency: '3h', everyMs: 10_800_000, enabled: false, updatedAt: now })
      .run()
  }
}

function emailOf(name: Name): string {
  return `canary${name}q7@example.com`
}
