import { expect, test } from 'bun:test'
import { closeSync, existsSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { signIn, signUp } from '../../tests/harness/client.ts'
import { openInstallation } from '../../tests/harness/server.ts'
import { until } from '../../tests/harness/until.ts'
import { openDatabase } from '../db/open.ts'

const PATIENCE_MS = 300_000
const PAGE = 4096
const Created = z.object({ file: z.string() })

/** Flips the first bytes of every page of a file from one page on. */
function flipPages(file: string, firstPage: number, pages = Number.POSITIVE_INFINITY): void {
  const descriptor = openSync(file, 'r+')
  const last = Math.min(statSync(file).size / PAGE, firstPage - 1 + pages)
  for (let page = firstPage; page <= last; page++)
    writeSync(descriptor, Buffer.alloc(64, 0xff), 0, 64, (page - 1) * PAGE)
  closeSync(descriptor)
}

test.each([
  ['all pages but the first', 2],
  ['all pages', 1],
])(
  'stead serve: exits with 78 and a line with the restore command when %s of a database that was not closed are damaged',
  async (_what, firstPage) => {
    await using installation = await openInstallation()
    const program = await installation.start()
    await signUp(program.urls.web)
    const { file } = Created.parse(JSON.parse((await installation.run(['backup', 'create', '--json'])).stdout))
    await program.kill()
    const database = join(installation.dataDir, 'stead.db')
    expect(existsSync(`${database}-wal`)).toBe(true)
    flipPages(database, firstPage)

    const command = ['backup', 'restore', file, '--data-dir', installation.dataDir, '--in-place']
    const way = `stop Stead and restore a backup: stead ${command.join(' ')}`
    const started = await installation.run(['serve'])
    expect(started).toMatchObject({ exitCode: 78, stdout: '' })
    expect(started.stderr).toStartWith(`stead: DATA_DIR: ${database} is damaged (`)
    expect(started.stderr).toEndWith(`): ${way}\n`)
    expect(started.stderr.trimEnd()).not.toContain('\n')
    const doctor = await installation.run(['doctor'])
    expect(doctor.exitCode).toBe(1)
    expect(doctor.stdout).toMatch(/^✗ database: .*$/m)
    expect(doctor.stdout).toContain(`: ${way}\n`)

    expect((await installation.run(command)).exitCode).toBe(0)
    const again = await installation.start()
    await signIn(again.urls.web)
    expect((await again.stop()).exitCode).toBe(0)
  },
  PATIENCE_MS,
)

test(
  'stead serve: logs damage of a large database as an error after it listens, when it was not closed properly',
  async () => {
    await using installation = await openInstallation({ environment: { LOG_FORMAT: 'json' } })
    await installation.run(['migrate'])
    const database = join(installation.dataDir, 'stead.db')
    const { sqlite, close } = openDatabase(database)
    sqlite.exec(`CREATE TABLE filling (id INTEGER PRIMARY KEY, text TEXT) STRICT;
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      INSERT INTO filling SELECT i, hex(zeroblob(1700)) FROM n`)
    close()
    expect(statSync(database).size).toBeGreaterThan(32 * 1024 ** 2)
    await (await installation.start()).kill()
    const whole = await installation.start()
    await until('the check of a whole database', () => whole.lines.find((line) => line.includes('is whole')))
    await whole.kill()

    flipPages(database, statSync(database).size / PAGE - 2000, 10)
    const program = await installation.start()
    const line = await until('the line in the log', () =>
      program.lines.find((text) => text.includes('the database is damaged')),
    )
    expect(JSON.parse(line)).toMatchObject({ level: 50 })
    expect(line).toContain(`--data-dir ${installation.dataDir} --in-place`)
    expect((await program.stop()).exitCode).toBe(0)
  },
  PATIENCE_MS,
)
