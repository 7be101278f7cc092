import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePorts } from '../../../tests/harness/ports.ts'
import { type Installation, openInstallation } from '../../../tests/harness/server.ts'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { readSettingsFile } from './file.ts'

const PATIENCE_MS = 300_000

function writeSettings(installation: Installation, text: string, mode = 0o600): string {
  mkdirSync(installation.dataDir, { recursive: true, mode: 0o700 })
  const file = join(installation.dataDir, 'stead.env')
  writeFileSync(file, text)
  chmodSync(file, mode)
  return file
}

function parse(text: string) {
  using folder = tempFolder()
  writeFileSync(folder.file('stead.env'), text)
  return readSettingsFile(folder.file('stead.env'))
}

test('a settings file may have comments, quotes, export, and a # inside a value', () => {
  expect(
    parse(`# a comment
export WEB_PORT=8080   # the dashboard
HOST = '0.0.0.0'

SMTP_URL="smtp://ada:a b#c@mail.example"
ADMIN_PASSWORD=correct#horse
MAIL_FROM=Stead <stead@example.com>
ADMIN_EMAILS=
FEEDS='[{"id":"a","url":"http://a.example"}]'
`),
  ).toEqual({
    WEB_PORT: '8080',
    HOST: '0.0.0.0',
    SMTP_URL: 'smtp://ada:a b#c@mail.example',
    ADMIN_PASSWORD: 'correct#horse',
    MAIL_FROM: 'Stead <stead@example.com>',
    ADMIN_EMAILS: '',
    FEEDS: '[{"id":"a","url":"http://a.example"}]',
  })
})

test.each([
  ['WEB_PORT', 'is neither NAME=value nor a comment'],
  ['WEB_PORT 80', 'is neither NAME=value nor a comment'],
  ['WEB_PRT=80', 'WEB_PRT is no setting: is WEB_PORT meant?'],
  ['web_port=80', 'web_port is no setting: is WEB_PORT meant?'],
  ['COLOUR=red', 'COLOUR is no setting (stead config schema lists them)'],
  ['HOST=a\nHOST=b', 'HOST stands there twice'],
  ['SMTP_URL="secret', 'SMTP_URL: the value is not whole: what holds quotes or begins with # stands in quotes'],
  ["SMTP_URL='a' b", 'SMTP_URL: the value is not whole: what holds quotes or begins with # stands in quotes'],
])('a settings file is refused with the line when it contains %j', (text, problem) => {
  const line = text.split('\n').length + 1
  expect(() => parse(`# first\n${text}`)).toThrow(new RegExp(`:${line}: ${problem.replace(/[?()]/g, '\\$&')}$`))
})

test('readConfig succeeds when there is no settings file', () => {
  expect(readSettingsFile('/nowhere/stead.env')).toEqual({})
})

test(
  'flags override the environment, the environment overrides the file, the file overrides defaults',
  async () => {
    await using installation = await openInstallation({ environment: { LOG_LEVEL: '', HOST: '' } })
    writeSettings(installation, 'LOG_LEVEL=warn\nWEB_PORT=1\nHOST=127.0.0.2\nBACKEND_PORT=2\n')
    const show = async (...flags: string[]) => {
      const { stdout } = await installation.run(['config', 'print', '--json', ...flags], {
        environment: { WEB_PORT: '3' },
      })
      const { LOG_LEVEL, WEB_PORT, HOST, SIGN_UP } = JSON.parse(stdout)
      return [LOG_LEVEL, WEB_PORT, HOST, SIGN_UP]
    }
    expect(await show()).toEqual(['warn', 3, '127.0.0.2', 'open'])
    expect(await show('--web-port', '4', '--log-level', 'error')).toEqual(['error', 4, '127.0.0.2', 'open'])
    expect(await show('--sign-up', 'closed')).toEqual(['warn', 3, '127.0.0.2', 'closed'])
  },
  PATIENCE_MS,
)

test(
  'config print writes a valid settings file, and doctor prints no password of a URL',
  async () => {
    await using installation = await openInstallation({ environment: { AGENT_RUNTIME: '' } })
    const file = writeSettings(
      installation,
      'BACKUP_SCHEDULE=0 3 * * * Europe/Berlin\nAGENT_RUNTIME=docker\nDOCKER_HOST=tcp://ada:secret-canary@127.0.0.1:1\n',
    )
    const { stdout } = await installation.run(['config', 'print'])
    expect(stdout).toContain('BACKUP_SCHEDULE=0 3 * * * Europe/Berlin\n')
    expect(stdout).toContain('BACKUP_KEEP=7d 4w 6m\n')
    const doctor = await installation.run(['doctor'])
    expect(doctor.stdout).toContain('no container engine answers at DOCKER_HOST=tcp://127.0.0.1:1')
    expect(stdout + doctor.stdout + doctor.stderr).not.toContain('secret-canary')
    writeFileSync(file, stdout.replaceAll(/^.*\[set\]\n/gm, ''))
    expect((await installation.run(['config', 'print'])).stdout).toBe(stdout)
  },
  PATIENCE_MS,
)

test(
  'stead config print: hides a key in the path of a URL, and shows a version or a word',
  async () => {
    await using installation = await openInstallation()
    const environment = {
      TELEGRAM_API_URL: 'https://bots.example.com/bot123456:AAF-secret_canary/file',
      OPENAI_BASE_URL: 'https://models.example.com/openai-compatible/v1beta',
    }
    const { stdout } = await installation.run(['config', 'print'], { environment })
    expect(stdout).toContain('TELEGRAM_API_URL=https://bots.example.com/[hidden]/file\n')
    expect(stdout).toContain('OPENAI_BASE_URL=https://models.example.com/openai-compatible/v1beta\n')
  },
  PATIENCE_MS,
)

test(
  'every command reads the settings file, which sets the ports of serve; secrets are masked, and named files are read',
  async () => {
    await using installation = await openInstallation({ environment: { WEB_PORT: '' } })
    const [web = 0] = await findFreePorts(1)
    const file = writeSettings(installation, `WEB_PORT=${web}\nOPENROUTER_API_KEY=secret-canary\n`)
    const printed = await installation.run(['config', 'print'])
    expect(printed).toMatchObject({ exitCode: 0, stderr: '' })
    expect(printed.stdout).toContain(`WEB_PORT=${web}\n`)
    expect(printed.stdout).toContain('OPENROUTER_API_KEY=[set]\n')
    expect(printed.stdout).not.toContain('secret-canary')
    const elsewhere = await installation.run(['config', 'print', '--data-dir', '/nowhere', '--settings', file])
    expect(elsewhere.stdout).toContain(`WEB_PORT=${web}\n`)
    expect(elsewhere.stdout).toContain('DATA_DIR=/nowhere\n')

    chmodSync(file, 0o644)
    expect((await installation.run(['config', 'check'])).stderr).toContain(
      `others can read ${file}, which holds secrets`,
    )
    const program = await installation.start()
    expect(program.urls.web).toEndWith(`:${web}`)
    expect((await program.stop()).exitCode).toBe(0)
  },
  PATIENCE_MS,
)

test.each(
  [['serve'], ['config', 'print'], ['config', 'check'], ['user', 'list'], ['migrate'], ['backup', 'list']].map(
    (args) => [args.join(' '), args] as const,
  ),
)(
  'stead %s: exits with 78 and one line when the file misspells a setting, or the named file does not exist',
  async (_name, args) => {
    await using installation = await openInstallation()
    const file = writeSettings(installation, 'WEB_PRT=8080\n')
    expect(await installation.run([...args])).toEqual({
      exitCode: 78,
      stdout: '',
      stderr: `stead: ${file}:1: WEB_PRT is no setting: is WEB_PORT meant?\n`,
    })
    expect(await installation.run([...args], { environment: { STEAD_SETTINGS: '/nowhere/stead.env' } })).toEqual({
      exitCode: 78,
      stdout: '',
      stderr: 'stead: STEAD_SETTINGS: there is no /nowhere/stead.env\n',
    })
  },
  PATIENCE_MS,
)

test(
  'stead config schema: prints each setting with its description; a secret has no flag',
  async () => {
    await using installation = await openInstallation()
    const { exitCode, stdout } = await installation.run(['config', 'schema'])
    expect(exitCode).toBe(0)
    const { properties } = JSON.parse(stdout)
    expect(properties.WEB_PORT).toMatchObject({ default: '3000', description: expect.any(String) })
    const flag = await installation.run(['serve', '--encryption-key', 'secret'])
    expect(flag.exitCode).toBe(2)
  },
  PATIENCE_MS,
)
