import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { systemClock } from '../../../src/core/clock.ts'
import { createBackup } from '../../../src/server/backups/create.ts'
import { extractBackup } from '../../../src/server/backups/verify.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import { readLines } from '../../harness/wires/lines.ts'
import { fillInstallation } from './installation.ts'

const WRITER = join(import.meta.dir, '../../harness/programs/steady-writer.ts')
const ROUNDS = roundsOf('BACKUPS', 4)
const PER_SECOND = 500

/** Returns the writer's rows up to a row, while the database may grow. */
function readWritten(file: string, upTo: number | null) {
  const sqlite = new Database(file, { readonly: true })
  try {
    return sqlite.transaction(() => {
      const count = sqlite.prepare<[], number>('SELECT count FROM steady_count').pluck().get() ?? 0
      const rows = sqlite.prepare<[number], string>('SELECT text FROM steady WHERE id <= ? ORDER BY id').pluck()
      const texts = rows.all(upTo ?? Number.MAX_SAFE_INTEGER)
      return { count, rows: texts.length, hash: Bun.hash(texts.join('\n')) }
    })()
  } finally {
    sqlite.close()
  }
}

test(`${ROUNDS} backups during ${PER_SECOND} writes a second: each contains every row acknowledged before, and no partial transaction`, async () => {
  using folder = tempFolder()
  const config = await fillInstallation(folder.file('data'))
  const writer = Bun.spawn([process.execPath, WRITER, config.databaseFile, String(PER_SECOND)], { stdout: 'pipe' })
  let acknowledged = 0
  const reading = (async () => {
    for await (const line of readLines(writer.stdout)) acknowledged = Number(line)
  })()
  try {
    await until('the first rows', () => acknowledged > 0)
    const startedAt = performance.now()
    const atFirst = acknowledged
    let differences = 0
    for (let round = 0; round < ROUNDS; round++) {
      const before = acknowledged
      const { file } = await createBackup({ config, clock: systemClock }, folder.file(`${round}.tar`))
      const taken = folder.file(`taken-${round}`)
      const { problems } = await extractBackup(file, taken, null)
      expect(problems).toEqual([])
      const copy = readWritten(join(taken, 'stead.db'), null)
      const original = readWritten(config.databaseFile, copy.rows)
      expect(copy.rows).toBeGreaterThanOrEqual(before)
      if (copy.count !== copy.rows || copy.hash !== original.hash) differences++
      rmSync(taken, { recursive: true })
      rmSync(file)
    }
    expect(differences).toBe(0)
    const seconds = (performance.now() - startedAt) / 1000
    const rate = Math.round((acknowledged - atFirst) / seconds)
    console.info(
      `${ROUNDS} backups in ${seconds.toFixed(1)} s under ${rate} writes a second: ${differences} differences`,
    )
  } finally {
    writer.kill('SIGKILL')
    await Promise.all([writer.exited, reading])
  }
}, 600_000)
