import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { signIn, signUp } from '../../../../tests/harness/client.ts'
import { settingsFor, startEventIssuer } from '../../../../tests/harness/doubles/event-issuer.ts'
import { roundsOf } from '../../../../tests/harness/rounds.ts'
import { openInstallation } from '../../../../tests/harness/server.ts'
import { until } from '../../../../tests/harness/until.ts'
import { openDatabase } from '../../../db/open.ts'
import { openWriteQueue, write } from '../../../db/write.ts'
import { auditLog } from '../audit/tables.ts'
import { identities } from '../sign-in/tables.ts'
import { users } from '../users/tables.ts'

const PEOPLE = 20
const ROUNDS = roundsOf('EVENT_KILLS', 1)

test('POST /api/security/risc: 202 for every event, which is handled once after a restart when the process is killed', async () => {
  using issuer = await startEventIssuer()
  await using installation = await openInstallation({ environment: settingsFor(issuer) })
  const first = await installation.start()
  await Promise.all(Array.from({ length: PEOPLE }, (_, person) => signUp(first.urls.web, emailOf(person))))
  await first.stop()
  await link(join(installation.dataDir, 'stead.db'), issuer.issuer)

  for (let round = 0; round < ROUNDS; round++) {
    const before = await installation.start()
    const people = await Promise.all(
      Array.from({ length: PEOPLE }, (_, person) => signIn(before.urls.web, emailOf(person))),
    )
    const tokens = await Promise.all(
      people.map(({ email }) => issuer.sign({ events: { [EVENT]: { subject: { sub: email } } } })),
    )
    const sent = tokens.map((body) => fetch(`${before.urls.web}/api/security/risc`, { method: 'POST', body }))
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    await before.kill()
    expect(new Set(statuses)).toEqual(new Set([202]))

    const after = await installation.start()
    for (const { cookie } of people) {
      const isSignedOut = async () => {
        const response = await fetch(`${after.urls.web}/api/auth/session`, { headers: cookie })
        return JSON.stringify(await response.json()) === '{"user":null}'
      }
      await until('the session has ended', isSignedOut)
    }
    await after.stop()
  }
  expect(countActions(join(installation.dataDir, 'stead.db'))).toBe(PEOPLE * ROUNDS)
}, 300_000)

const EVENT = 'https://schemas.openid.net/secevent/risc/event-type/sessions-revoked'

function emailOf(person: number): string {
  return `person-${person}@example.com`
}

/** Links every account to the issuer, under its address as the subject. */
async function link(file: string, issuer: string): Promise<void> {
  const connection = openDatabase(file)
  openWriteQueue(connection)
  const now = new Date()
  await write(connection.db, (tx) => {
    for (const { id: userId, email } of tx.select().from(users).all()) {
      const identity = { issuer, subject: email, userId, email, createdAt: now, lastUsedAt: now }
      tx.insert(identities)
        .values({ ...identity, provider: 'idp-b' })
        .run()
    }
  })
  connection.close()
}

function countActions(file: string): number {
  const connection = openDatabase(file)
  try {
    const lines = connection.db.select().from(auditLog).all()
    return lines.filter(({ action }) => action === 'security-event.sessions-revoked').length
  } finally {
    connection.close()
  }
}
