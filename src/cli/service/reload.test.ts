import { expect, test } from 'bun:test'
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openHouse } from '../../../tests/harness/server.ts'
import { until } from '../../../tests/harness/until.ts'

const NEVER_MS = 120_000

test(
  'SIGHUP: the log goes on in a new file, LOG_LEVEL counts at once, and what waits for the next start is named',
  async () => {
    await using house = await openHouse()
    const at = (name: string) => join(house.dataDir, '..', name)
    const [settings, log, moved, other] = [at('stead.env'), at('stead.log'), at('stead.log.1'), at('other.log')]
    const set = (text: string) => writeFileSync(settings, text, { mode: 0o600 })
    set(`LOG_FILE=${log}\nLOG_LEVEL=info\n`)
    const started = await house.start({ STEAD_SETTINGS: settings })
    const hangUp = () => process.kill(started.pid, 'SIGHUP')
    const says = (file: string, text: string) =>
      until(`${text} in ${file}`, async () => existsSync(file) && readFileSync(file, 'utf8').includes(text))
    // With the banner on standard output there are no lines of the log.
    expect(started.lines.join('\n')).not.toContain('"level"')

    renameSync(log, moved)
    hangUp()
    await says(log, 'settings were read again')
    expect(statSync(log).mode & 0o777).toBe(0o600)
    expect(readFileSync(moved, 'utf8')).not.toContain('read again')

    set(`LOG_FILE=${log}\nLOG_LEVEL=debug\nRETENTION_USAGE_DAYS=3\n`)
    hangUp()
    await says(log, '"changed":["LOG_LEVEL"]')
    await says(log, '"settings":["RETENTION_USAGE_DAYS"]')

    set(`LOG_FILE=${log}\nLOG_LEVLE=info\nLOG_LEVEL=loud\n`)
    hangUp()
    await says(log, 'LOG_LEVLE is no setting: is LOG_LEVEL meant?')
    set(`LOG_FILE=${house.dataDir}/there/is/none.log\nLOG_LEVEL=silent\n`)
    hangUp()
    await says(log, 'none.log cannot be written')
    expect((await fetch(`${started.urls.web}/api/health`)).status).toBe(200)

    set(`LOG_FILE=${other}\nLOG_LEVEL=info\n`)
    hangUp()
    await says(other, '"changed":["LOG_LEVEL","LOG_FILE"]')
    expect((await started.stop()).exitCode).toBe(0)
    expect(readFileSync(other, 'utf8')).toContain('"msg":"stopping"')
  },
  NEVER_MS,
)

test('LOG_FILE: one that cannot be opened stops the start with 78', async () => {
  await using house = await openHouse()
  const file = join(house.dataDir, 'there', 'is', 'none.log')
  expect(await house.run(['serve'], { environment: { LOG_FILE: file } })).toMatchObject({
    exitCode: 78,
    stderr: expect.stringContaining(`stead: LOG_FILE: ${file} cannot be written`),
  })
})
