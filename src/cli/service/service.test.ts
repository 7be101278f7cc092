import { expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { openInstallation } from '../../../tests/harness/server.ts'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { until } from '../../../tests/harness/until.ts'
import { readConfig } from '../../core/config.ts'
import { parseUnit, toPropertyList, toUnit } from './unit.ts'
import { findUnwritable, listUncovered, listWritePaths } from './write-paths.ts'

const PATIENCE_MS = 300_000
const PLAN = { command: ['/usr/local/bin/stead'], dataDir: '/var/lib/stead', user: 'stead', groups: [], writePaths: [] }
/** Upper bound of the exposure that `systemd-analyze security` reports, as documented. */
const MAX_EXPOSURE = 3

/** Runs `systemd-analyze` on a unit whose program is there. */
function analyze(unit: string, ...args: string[]) {
  using folder = tempFolder()
  writeFileSync(folder.file('stead.service'), unit)
  const { exitCode, stdout, stderr } = Bun.spawnSync(['systemd-analyze', ...args, folder.file('stead.service')])
  return { exitCode, said: `${stdout}${stderr}` }
}

const hasSystemd = Bun.which('systemd-analyze') !== null
if (!hasSystemd) console.warn('No systemd-analyze here: what systemd says of the unit is not tested.')

test.skipIf(!hasSystemd).each([
  ['of the machine', PLAN],
  [
    'with containers, on a folder with blanks and signs',
    {
      ...PLAN,
      dataDir: '/srv/my stead 100%',
      groups: ['docker'],
      writePaths: ['/mnt/my "$backups" 5%', '/var/log/stead'],
    },
  ],
  ['of one user', { ...PLAN, dataDir: '/home/ada/stead', user: null }],
])('toUnit returns a unit %s that systemd accepts without a warning', (_case, plan) => {
  expect(analyze(toUnit({ ...plan, command: [process.execPath] }), 'verify', '--man=no')).toEqual({
    exitCode: 0,
    said: '',
  })
})

test.skipIf(!hasSystemd)('toUnit returns a unit whose exposure is at most 3.0 for systemd-analyze', () => {
  const { said } = analyze(toUnit(PLAN), 'security', '--offline=true', '--no-pager')
  expect(Number(said.match(/Overall exposure level for stead\.service: ([\d.]+)/)?.[1])).toBeLessThanOrEqual(
    MAX_EXPOSURE,
  )
})

test('toUnit allows writes to the data folder only, and access to a home folder only when it contains the data folder', () => {
  const unit = toUnit(PLAN)
  expect(unit).toContain('ExecStart=/usr/local/bin/stead serve --data-dir /var/lib/stead\n')
  expect(unit).toContain('ExecReload=/bin/kill -HUP $MAINPID\n')
  expect(unit).toContain('ReadWritePaths=/var/lib/stead\n')
  expect(unit).toContain('ProtectHome=yes\n')
  expect(toUnit({ ...PLAN, dataDir: '/home/ada/stead' })).toContain('ProtectHome=read-only\n')
  expect(toUnit({ ...PLAN, user: null })).not.toContain('User=')
})

test('toUnit makes folders of settings writable, and allows access to a home folder when one is in it', () => {
  const unit = toUnit({ ...PLAN, writePaths: ['/mnt/backups', '/var/log/stead'] })
  expect(unit).toContain('ReadWritePaths=/var/lib/stead -/mnt/backups -/var/log/stead\n')
  expect(unit).toContain('ProtectHome=yes\n')
  expect(toUnit({ ...PLAN, writePaths: ['/home/ada/backups'] })).toContain('ProtectHome=read-only\n')
})

test.each([
  [PLAN],
  [{ ...PLAN, dataDir: '/srv/my stead 100%', groups: ['docker'], writePaths: ['/mnt/my "$backups" 5%', '/var/log/x'] }],
])('parseUnit returns the options of toUnit: %j', (plan) => {
  const { dataDir, user, groups, writePaths } = plan
  expect(parseUnit(toUnit(plan))).toEqual({ dataDir, user, groups, writePaths, allowsSandboxes: true })
})

test('parseUnit finds no sandboxes under the unit of an earlier version', () => {
  const older = toUnit(PLAN).replace('RestrictRealtime=yes', 'RestrictNamespaces=yes\nRestrictRealtime=yes')
  expect(parseUnit(older)).toMatchObject({ allowsSandboxes: false })
})

test('parseUnit returns no restriction when the unit is of one user', () => {
  expect(parseUnit(toUnit({ ...PLAN, user: null }))).toMatchObject({ user: null, writePaths: null })
})

const SETTINGS = { DATA_DIR: '/var/lib/stead' }

test('listWritePaths returns the folders of settings outside the data folder', () => {
  const folders = (settings: Record<string, string>) =>
    listWritePaths(readConfig({ ...SETTINGS, ...settings })).map(({ setting, folder }) => `${setting} ${folder}`)
  expect(folders({})).toEqual([])
  expect(folders({ BACKUP_TO: '/var/lib/stead/copies', LOG_FILE: '/var/lib/stead/logs/stead.log' })).toEqual([])
  expect(
    folders({
      BACKUP_TO: '/mnt/backups',
      LOG_FILE: '/var/log/stead/stead.log',
      DATABASE_URL: 'file:/srv/db/stead.db',
      BROWSE_ROOT: '/srv/files',
    }),
  ).toEqual(['DATABASE_URL /srv/db', 'BACKUP_TO /mnt/backups', 'LOG_FILE /var/log/stead', 'BROWSE_ROOT /srv/files'])
  const s3 = { S3_ACCESS_KEY_ID: 'a', S3_SECRET_ACCESS_KEY: 'b' }
  expect(folders({ BACKUP_TO: 's3://bucket/stead', ...s3 })).toEqual([])
  expect(folders({ BACKUP_TO: '/var/lib/stead-backups' })).toEqual(['BACKUP_TO /var/lib/stead-backups'])
})

test('listUncovered returns the settings that changed since the unit was written', () => {
  const paths = listWritePaths(
    readConfig({ ...SETTINGS, BACKUP_TO: '/mnt/backups/stead', LOG_FILE: '/var/log/a/b.log' }),
  )
  const uncovered = (...writable: string[]) => listUncovered(paths, writable).map(({ setting }) => setting)
  expect(uncovered('/mnt/backups', '/var/log/a')).toEqual([])
  expect(uncovered('/mnt/backup')).toEqual(['BACKUP_TO', 'LOG_FILE'])
})

test.skipIf(process.getuid?.() !== 0)(
  'findUnwritable returns why another user cannot write, and null when it can',
  () => {
    using folder = tempFolder()
    chmodSync(folder.path, 0o755)
    const path = { setting: 'BACKUP_TO', folder: folder.file('to'), file: null }
    expect(findUnwritable(path, null)).toBeNull()
    expect(findUnwritable(path, 'nobody')).toBe(
      `BACKUP_TO: ${path.folder} (below ${folder.path}) cannot be written by nobody (chown nobody ${folder.path})`,
    )
    chmodSync(folder.path, 0o777)
    expect(findUnwritable(path, 'nobody')).toBeNull()
  },
)

test('the property list of launchd is valid XML when values contain special characters', () => {
  const list = toPropertyList({ ...PLAN, dataDir: '/Users/ada/R&D <x>', user: null }, 'stead.service')
  expect(list).toContain('<string>/Users/ada/R&amp;D &lt;x&gt;</string>')
  expect(list).not.toContain('UserName')
  expect(toPropertyList(PLAN, 'stead.service')).toContain('<key>UserName</key>\n  <string>stead</string>')
})

test(
  'stead service: install --print changes nothing, a temporary folder is a usage error, other commands fail without a service',
  async () => {
    await using installation = await openInstallation()
    const printed = await installation.run(['service', 'install', '--user', '--print'])
    if (!Bun.which('systemctl')) return expect(printed.exitCode).toBe(1)
    expect(printed).toMatchObject({ exitCode: 0, stderr: '' })
    expect(printed.stdout).toContain('Type=notify\n')
    const refused = await installation.run(['service', 'install', '--user', '--data-dir', '/tmp/stead'])
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is in a temporary folder') })
    expect(existsSync('/tmp/stead')).toBe(false)
    for (const name of ['status', 'logs']) {
      expect(await installation.run(['service', name, '--user'])).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: 'stead: service: none is installed (stead service install --user)\n',
      })
    }
    expect((await installation.run(['service', 'logs', '--lines', 'many'])).exitCode).toBe(2)
    expect(await installation.run(['service', 'uninstall', '--user'])).toEqual({
      exitCode: 0,
      stdout: 'No service is installed.\n',
      stderr: '',
    })
  },
  PATIENCE_MS,
)

/** Reads from a datagram socket, which Bun does not support. */
function openManager(name: string) {
  const reader = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', chr(0)))
print('open', flush=True)
while True: print(s.recv(4096).decode().replace(chr(10), ' '), flush=True)`
  const child = Bun.spawn(['python3', '-c', reader, name], { stdout: 'pipe', stderr: 'inherit' })
  const heard: string[] = []
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) heard.push(...decoder.decode(bytes).trim().split('\n'))
  })()
  return {
    heard,
    async [Symbol.asyncDispose]() {
      child.kill()
      await reading
    },
  }
}

test
  .skipIf(process.platform !== 'linux' || !Bun.which('python3'))
  .each(['in the file system', 'in the abstract namespace'])(
  'stead serve: notifies a service manager %s when it is ready, alive and stopping',
  async (where) => {
    using folder = tempFolder()
    const name = where === 'in the file system' ? folder.file('notify') : `@stead-${process.pid}-${Date.now()}`
    await using manager = openManager(name)
    await until('the socket', () => manager.heard.includes('open'))
    await using installation = await openInstallation()
    const program = await installation.start({ NOTIFY_SOCKET: name, WATCHDOG_USEC: '200000' })
    await until('READY', () => manager.heard.find((line) => line.startsWith('READY=1 STATUS=http')))
    await until('the watchdog', () => manager.heard.filter((line) => line === 'WATCHDOG=1').length > 2)
    expect((await program.stop()).exitCode).toBe(0)
    await until('STOPPING', () => manager.heard.includes('STOPPING=1'))
  },
  PATIENCE_MS,
)

test(
  'stead serve: continues and logs a warning when the socket of the service manager has no reader',
  async () => {
    await using installation = await openInstallation()
    const program = await installation.start({ NOTIFY_SOCKET: '/nowhere/notify' })
    await until('the warning', () => program.lines.find((line) => line.includes('nobody reads /nowhere/notify')))
    expect((await program.stop()).exitCode).toBe(0)
  },
  PATIENCE_MS,
)

test(
  'stead service logs: prints lines of the log as on a terminal with --format pretty, and unchanged with json',
  async () => {
    using folder = tempFolder()
    const lines = '{"level":50,"time":"2026-11-24T13:00:00.000Z","msg":"the database is damaged"}\nno JSON\n'
    for (const [name, script] of [
      ['systemctl', 'exit 0'],
      ['journalctl', `printf '%s' '${lines}'`],
    ] as const) {
      writeFileSync(folder.file(name), `#!/bin/sh\n${script}\n`)
      chmodSync(folder.file(name), 0o755)
    }
    mkdirSync(folder.file('systemd/user'), { recursive: true })
    writeFileSync(folder.file('systemd/user/stead.service'), toUnit({ ...PLAN, user: null }))
    await using installation = await openInstallation({
      environment: { PATH: `${folder.path}:${process.env.PATH}`, XDG_CONFIG_HOME: folder.path },
    })
    const pretty = await installation.run(['service', 'logs', '--user', '--format', 'pretty'])
    expect(pretty).toMatchObject({ exitCode: 0, stderr: '' })
    expect(pretty.stdout).toMatch(/^\S+.* ERROR\b.*the database is damaged\nno JSON\n$/i)
    expect(pretty.stdout).not.toContain('{')
    expect((await installation.run(['service', 'logs', '--user'])).stdout).toBe(lines)
    expect((await installation.run(['service', 'logs', '--user', '--format', 'xml'])).exitCode).toBe(2)
  },
  PATIENCE_MS,
)
