import { expect, onTestFinished, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../../../migrations/list.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { readInstanceLocation } from '../../../adapters/runtimes/process/place.ts'
import { createProcessTable } from '../../../adapters/runtimes/process/table.ts'
import { systemClock } from '../../../core/clock.ts'
import { lockDataDir } from '../../../db/instance-lock.ts'
import { migrate } from '../../../db/migrate.ts'
import { openDatabase } from '../../../db/open.ts'
import { openWriteQueue, write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { claimOwnership, findOwnership, findStandbyReason, type LocatedInstance, setOwnership } from './ownership.ts'
import { takeOverAgents } from './takeover.ts'

const clock = systemClock

/** Creates instances of one id in one folder on first use. */
function openCopies() {
  const folder = tempFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  return (name: string, instance = 'abc') => {
    const dataDir = folder.file(name)
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'instance.id'), instance)
    const databaseFile = join(dataDir, 'stead.db')
    const connection = openDatabase(databaseFile)
    migrate(connection.sqlite, migrations)
    openWriteQueue(connection)
    onTestFinished(() => connection.close())
    const here: LocatedInstance = { place: readInstanceLocation(dataDir), databaseFile, instance }
    const { db } = connection
    return {
      db,
      here,
      adopt: () => takeOverAgents({ db, clock, table: createProcessTable() }, here),
      objection: () => findStandbyReason(db, here),
      /** As after copying the folder of `other`. */
      isCopyOf: (other: LocatedInstance) => write(db, (tx) => setOwnership(tx, other, null)),
    }
  }
}

test('takeOverAgents records the first instance, and again for the owner', async () => {
  const one = openCopies()('one')
  expect(one.objection()).toBeNull()
  expect(await claimOwnership(one.db, one.here)).toBeNull()
  expect(findOwnership(one.db)).toMatchObject({ path: one.here.place.path, leftAt: null })
  expect(await one.adopt()).toEqual({ original: null })
  expect(one.db.select().from(auditLog).all()).toEqual([])
})

test('takeOverAgents makes all earlier owners of a chain of copies a standby', async () => {
  const copies = openCopies()
  const [one, two, three] = [copies('one'), copies('two'), copies('three')]
  await claimOwnership(one.db, one.here)
  for (const copy of [two, three]) await copy.isCopyOf(one.here)
  expect(two.objection()).toContain(`copy of the installation at ${one.here.place.path}`)

  expect(await two.adopt()).toEqual({ original: { path: one.here.place.path, isTold: true } })
  expect([one, two, three].map((copy) => copy.objection() === null)).toEqual([false, true, false])
  expect(await three.adopt()).toEqual({ original: { path: one.here.place.path, isTold: true } })
  expect([one, two, three].map((copy) => copy.objection() === null)).toEqual([false, false, true])
  expect(await one.adopt()).toEqual({ original: { path: three.here.place.path, isTold: true } })
  expect([one, two, three].map((copy) => copy.objection() === null)).toEqual([true, false, false])
  const [line] = one.db.select().from(auditLog).all()
  expect(line).toMatchObject({ actor: 'cli', action: 'installation.adopted', target: one.here.place.path })
})

test('takeOverAgents throws when a previous owner is running', async () => {
  const copies = openCopies()
  const [one, two, three] = [copies('one'), copies('two'), copies('three')]
  await claimOwnership(one.db, one.here)
  for (const copy of [two, three]) await copy.isCopyOf(one.here)
  await two.adopt()
  const stop = lockDataDir(two.here.place.path)
  await expect(three.adopt()).rejects.toThrow(
    `the installation at ${two.here.place.path} has the agents: stop it first`,
  )
  expect(three.objection()).not.toBeNull()
  expect(two.objection()).toBeNull()
  stop()
  await three.adopt()
  expect([two, three].map((copy) => copy.objection() === null)).toEqual([false, true])
})

test('takeOverAgents reports when the original cannot be notified', async () => {
  const copies = openCopies()
  const [one, two] = [copies('one'), copies('two')]
  const elsewhere = { ...one.here, place: { ...one.here.place, machine: 'another', boot: 'another' } }
  await two.isCopyOf(elsewhere)
  expect(two.objection()).toContain('on another machine')
  expect(await two.adopt()).toEqual({ original: { path: one.here.place.path, isTold: false } })
  expect(two.objection()).toBeNull()

  const three = copies('three')
  await three.isCopyOf({ ...one.here, place: { ...one.here.place, path: '/nowhere/at/all' } })
  expect(await three.adopt()).toEqual({ original: { path: '/nowhere/at/all', isTold: false } })
})

test('takeOverAgents does not notify an instance when it is another one at the old path', async () => {
  const copies = openCopies()
  const [stranger, copy] = [copies('one', 'stranger'), copies('two')]
  await claimOwnership(stranger.db, stranger.here)
  await copy.isCopyOf(stranger.here)
  expect(await copy.adopt()).toMatchObject({ original: { isTold: false } })
  expect(stranger.objection()).toBeNull()
})
