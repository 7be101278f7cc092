import { expect, test } from 'bun:test'
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signUp } from '../../../tests/harness/client.ts'
import { startProvider } from '../../../tests/harness/doubles/provider.ts'
import { json } from '../../../tests/harness/requests.ts'
import { openInstallation } from '../../../tests/harness/server.ts'
import { until } from '../../../tests/harness/until.ts'
import { SettingsInEffect } from '../../features/admin/oversight/schemas.ts'
import { Services } from '../../features/admin/services/schemas.ts'

const NEVER_MS = 120_000

test(
  'SIGHUP: reopens the log, applies LOG_LEVEL, and names the settings that need a restart',
  async () => {
    await using installation = await openInstallation()
    const at = (name: string) => join(installation.dataDir, '..', name)
    const [settings, log, moved, other] = [at('stead.env'), at('stead.log'), at('stead.log.1'), at('other.log')]
    const set = (text: string) => writeFileSync(settings, text, { mode: 0o600 })
    set(`LOG_FILE=${log}\nLOG_LEVEL=info\n`)
    const started = await installation.start({ STEAD_SETTINGS: settings })
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

    set(`LOG_FILE=${log}\nLOG_LEVEL=debug\nBROWSE_ROOT=/srv\n`)
    hangUp()
    await says(log, '"changed":["LOG_LEVEL"]')
    await says(log, '"settings":["BROWSE_ROOT"]')

    set(`LOG_FILE=${log}\nLOG_LEVLE=info\nLOG_LEVEL=loud\n`)
    hangUp()
    await says(log, 'LOG_LEVLE is no setting: is LOG_LEVEL meant?')
    set(`LOG_FILE=${installation.dataDir}/there/is/none.log\nLOG_LEVEL=silent\n`)
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

test(
  'SIGHUP: applies rates, provider keys, mail server, administrators and retention, and reverts them',
  async () => {
    await using provider = await startProvider()
    await using installation = await openInstallation({ environment: { OPENROUTER_BASE_URL: provider.baseUrl } })
    const settings = join(installation.dataDir, '..', 'stead.env')
    const log = join(installation.dataDir, '..', 'stead.log')
    const set = (...lines: string[]) =>
      writeFileSync(settings, [`LOG_FILE=${log}`, ...lines, ''].join('\n'), { mode: 0o600 })
    set()
    const { urls, pid, stop } = await installation.start({ STEAD_SETTINGS: settings, RATE_LIMIT_LOGIN: '' })
    const owner = await signUp(urls.web)
    const readLines = () =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((one) => one.includes('settings were read again'))
    const hangUp = async (changed: string[]) => {
      const before = existsSync(log) ? readLines().length : 0
      process.kill(pid, 'SIGHUP')
      const line = await until('the word that they were read', async () => readLines()[before])
      expect(line).toContain(`"changed":${JSON.stringify(changed)}`)
    }
    const logIn = () =>
      fetch(`${urls.web}/api/auth/login`, json('POST', { email: 'eve@example.com', password: 'wrong password' }))
    const services = async () => Services.parse(await (await owner.get('/api/admin/services')).json())
    const sourceOf = async () => (await services()).providers.find(({ id }) => id === 'openrouter')?.source
    const shown = async (name: string) =>
      SettingsInEffect.parse(await (await owner.get('/api/admin/settings')).json()).settings.find(
        (one) => one.name === name,
      )?.value
    expect([await sourceOf(), (await services()).mail.source]).toEqual([null, null])

    set(
      'RATE_LIMIT_LOGIN=2',
      'OPENROUTER_API_KEY=sk-or-of-the-file',
      'SMTP_URL=smtp://127.0.0.1:9',
      'RETENTION_USAGE_DAYS=3',
    )
    await hangUp(['RETENTION_USAGE_DAYS', 'SMTP_URL', 'RATE_LIMIT_LOGIN', 'OPENROUTER_API_KEY'])
    expect([await sourceOf(), (await services()).mail.source]).toEqual(['environment', 'environment'])
    expect([await shown('RETENTION_USAGE_DAYS'), await shown('OPENROUTER_API_KEY')]).toEqual(['3', '[set]'])
    await until(
      'the models of the provider',
      async () => ((await services()).providers.find(({ id }) => id === 'openrouter')?.models ?? 0) > 0,
    )
    expect([(await logIn()).status, (await logIn()).status]).toEqual([401, 429])

    set()
    await hangUp(['RETENTION_USAGE_DAYS', 'SMTP_URL', 'RATE_LIMIT_LOGIN', 'OPENROUTER_API_KEY'])
    expect([await sourceOf(), (await services()).mail.source]).toEqual([null, null])
    expect((await logIn()).status).toBe(401)
    expect((await stop()).exitCode).toBe(0)
  },
  NEVER_MS,
)

test(
  'SIGHUP: logs a setting when its folder is not writable, as at the start',
  async () => {
    await using installation = await openInstallation()
    const settings = join(installation.dataDir, '..', 'stead.env')
    const set = (text: string) => writeFileSync(settings, text, { mode: 0o600 })
    set('BACKUP_TO=/dev/null/first\n')
    const started = await installation.start({ STEAD_SETTINGS: settings })
    const says = (text: string) => until(text, () => started.lines.some((line) => line.includes(text)))
    await says('BACKUP_TO: /dev/null/first (below /dev/null) cannot be written')
    set('BACKUP_TO=/dev/null/second\n')
    process.kill(started.pid, 'SIGHUP')
    await says('BACKUP_TO: /dev/null/second (below /dev/null) cannot be written')
    expect((await started.stop()).exitCode).toBe(0)
  },
  NEVER_MS,
)

test('LOG_FILE: stops the start with 78 when the file cannot be opened', async () => {
  await using installation = await openInstallation()
  const file = join(installation.dataDir, 'there', 'is', 'none.log')
  expect(await installation.run(['serve'], { environment: { LOG_FILE: file } })).toMatchObject({
    exitCode: 78,
    stderr: expect.stringContaining(`stead: LOG_FILE: ${file} cannot be written`),
  })
})
