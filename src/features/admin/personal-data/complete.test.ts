import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { getTableName, is } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { users } from '../../accounts/users/tables.ts'
import { PERSONAL_LISTS } from './export.ts'

const src = join(import.meta.dir, '../../..')
/** Names of columns that identify a person without a foreign key. */
const PERSON_COLUMN = /^(?:userId|ownerId|createdBy|referrerId|newUserId|actor|requestedBy|caller|holder|subject)$/

const EXCUSED: Readonly<Record<string, string>> = {
  agent_storage: 'how large that is which is in it',
  deployment_history: 'asked for by somebody, of an agent that is in it',
  pairing_codes: 'hashes of codes that expire within minutes',
  mcp_authorization_attempts: 'a connection under way, for ten minutes',
  recovery_codes: 'nothing but digests of secrets',
  house_wallets: 'names of the operator, of users elsewhere',
  skill_downloads: 'that an installed skill, which is in it, was counted',
  tool_days: 'sums of the tools that are in it',
  usage_alerts: 'that a mail about sums was sent',
  usage_days: 'sums of the calls that are in it',
  usage_key_days: 'sums of the calls that are in it',
  usage_months: 'sums of the calls that are in it',
  user_storage: 'how large that is which is in it',
  webhook_events: 'names a stream or a video, nobody',
}

test('GET /api/settings/export: 200 with every table that identifies a person, except those with a stated reason', async () => {
  const tables = await findTables()
  expect(tables.length).toBeGreaterThan(50)
  const shown = new Set(PERSONAL_LISTS.flatMap((list) => list.tables.map((table) => getTableName(table))))
  const personal = tables.filter(namesPerson).map((table) => getTableName(table))
  expect(personal.filter((name) => !shown.has(name) && !(name in EXCUSED)).sort()).toEqual([])
  expect(Object.keys(EXCUSED).filter((name) => shown.has(name) || !personal.includes(name))).toEqual([])
})

async function findTables(): Promise<SQLiteTable[]> {
  const paths = [...new Bun.Glob('**/tables.ts').scanSync(src)]
  const modules: object[] = await Promise.all(paths.map((path) => import(join(src, path))))
  return modules.flatMap((module) => Object.values(module)).filter((value) => is(value, SQLiteTable))
}

function namesPerson(table: SQLiteTable): boolean {
  const { columns, foreignKeys } = getTableConfig(table)
  return (
    foreignKeys.some((key) => key.reference().foreignTable === users) ||
    columns.some(({ name }) => PERSON_COLUMN.test(name))
  )
}
