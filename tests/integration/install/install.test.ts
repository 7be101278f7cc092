import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeInstaller } from '../../../scripts/build/release.ts'
import { ownTarget } from '../../../scripts/build/targets.ts'
import { tempFolder } from '../../harness/temp-folder.ts'

const SCRIPT = join(import.meta.dir, '../..', '..', 'scripts/install.sh')
const SHELLS = [['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(([name = '']) => Bun.which(name) !== null)
const PROGRAM = '#!/bin/sh\n[ "$1" = version ] && echo "stead 1.0.0 (bun 1.0.0)"\n'

/** Creates a folder with a file to install, and a PATH without network tools. */
function openMachine(shell: string[], program = PROGRAM) {
  const folder = tempFolder()
  const file = folder.file('download')
  writeFileSync(file, program)
  return {
    file,
    target: folder.file('prefix/bin/stead'),
    sum: Bun.CryptoHasher.hash('sha256', program, 'hex'),
    run(...args: string[]) {
      const command = [...shell, SCRIPT, '--prefix', folder.file('prefix'), '--no-service', ...args]
      const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
        env: { PATH: '/usr/bin:/bin', HOME: folder.path, STEAD_DOWNLOAD_URL: 'http://127.0.0.1:1' },
      })
      return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test.each(SHELLS.map((shell) => [shell.join(' '), shell] as const))(
  'install.sh in %s: installs a file once, replaces it, and removes it, without the network',
  (_name, shell) => {
    using it = openMachine([...shell])
    writeFileSync(`${it.file}.sha256`, `${it.sum}  download\n`)
    expect(it.run('--file', it.file)).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringContaining(`Installed ${it.target}: stead 1.0.0`),
    })
    expect(statSync(it.target).mode & 0o777).toBe(0o755)
    expect(it.run('--file', it.file).stdout).toContain(`${it.target} is this version already.`)
    const next = PROGRAM.replace('1.0.0', '1.1.0')
    writeFileSync(it.file, next)
    writeFileSync(`${it.file}.sha256`, `${Bun.CryptoHasher.hash('sha256', next, 'hex')}  download\n`)
    expect(it.run('--file', it.file).exitCode).toBe(0)
    expect(readFileSync(it.target, 'utf8')).toBe(next)
    for (let time = 0; time < 2; time++) expect(it.run('--uninstall')).toMatchObject({ exitCode: 0, stderr: '' })
    expect(existsSync(it.target)).toBe(false)
  },
)

test.each(SHELLS.map((shell) => [shell.join(' '), shell] as const))(
  'install.sh in %s: exits with 1 and installs nothing when checksum, file or program is wrong; 2 for wrong usage',
  (_name, shell) => {
    using it = openMachine([...shell], '#!/bin/sh\nexit 1\n')
    const refuse = (args: string[], exitCode: number, reason: string) => {
      expect(it.run(...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(reason) })
      expect([existsSync(it.target), existsSync(`${it.target}.new`)]).toEqual([false, false])
    }
    refuse(['--file', it.file, '--sha256', '0'.repeat(64)], 1, `sums up to ${it.sum}`)
    writeFileSync(join(it.file, '..', 'SHA256SUMS'), `${'1'.repeat(64)}  download\n`)
    refuse(['--file', it.file], 1, `not to ${'1'.repeat(64)}`)
    writeFileSync(join(it.file, '..', 'SHA256SUMS'), `${it.sum}  download\n`)
    refuse(['--file', it.file], 1, 'does not run on this machine')
    refuse(['--file', '/nowhere/stead'], 1, 'there is no file /nowhere/stead')
    refuse([], 1, 'cannot be had')
    refuse(['--file'], 2, '--file needs a value')
    refuse(['--fiel', it.file], 2, 'unknown option --fiel')
  },
)

test('install.sh: downloads the executable for this machine and installs it only if SHA256SUMS matches', async () => {
  const name = `stead-${ownTarget()}`
  const sum = Bun.CryptoHasher.hash('sha256', PROGRAM, 'hex')
  using folder = tempFolder()
  let sums = ''
  await using server = Bun.serve({
    port: 0,
    fetch: ({ url }) => new Response(url.endsWith(`/${name}`) ? PROGRAM : url.endsWith('/SHA256SUMS') ? sums : null),
  })
  const run = async () => {
    const child = Bun.spawn(['sh', SCRIPT, '--prefix', folder.path, '--no-service'], {
      env: { PATH: '/usr/bin:/bin', HOME: folder.path, STEAD_DOWNLOAD_URL: server.url.href },
      ...{ stdout: 'pipe', stderr: 'pipe' },
    })
    return { exitCode: await child.exited, stderr: await child.stderr.text() }
  }
  const target = folder.file('bin/stead')
  for (const [text, reason] of [
    [`${sum}  stead-other\n`, `SHA256SUMS does not name ${name}`],
    [`${'0'.repeat(64)}  ${name}\n`, `not to ${'0'.repeat(64)}`],
  ] as const) {
    sums = text
    expect(await run()).toEqual({ exitCode: 1, stderr: expect.stringContaining(reason) })
    expect(existsSync(target)).toBe(false)
  }
  sums = `${sum}  ${name}\n`
  expect(await run()).toEqual({ exitCode: 0, stderr: '' })
  expect(readFileSync(target, 'utf8')).toBe(PROGRAM)
})

test('install.sh: exits with 1 and a line that names STEAD_DOWNLOAD_URL when no release URL is known', () => {
  using folder = tempFolder()
  const { exitCode, stderr } = Bun.spawnSync(['sh', SCRIPT, '--prefix', folder.path, '--no-service'], {
    env: { PATH: '/usr/bin:/bin', HOME: folder.path },
  })
  expect([exitCode, stderr.toString()]).toEqual([
    1,
    `install.sh: no stead-${ownTarget()} is beside this script: set STEAD_DOWNLOAD_URL to the address of a release, or name the executable with --file\n`,
  ])
})

const TOOLS = 'sh uname id dirname mktemp rm cut sha256sum cp chmod mv mkdir cmp cat sed basename'.split(' ')

test.skipIf(process.platform !== 'linux')(
  'install.sh: root gets bubblewrap from the packages of the system, and others the command',
  () => {
    using folder = tempFolder()
    const bin = folder.file('tools')
    mkdirSync(bin)
    for (const tool of TOOLS) symlinkSync(Bun.which(tool) ?? tool, join(bin, tool))
    const record = folder.file('installed')
    writeFileSync(join(bin, 'apt-get'), `#!/bin/sh\necho "$@" >> ${record}\n`, { mode: 0o755 })
    writeFileSync(folder.file('download'), PROGRAM)
    const install = (...args: string[]) =>
      Bun.spawnSync(['sh', SCRIPT, '--file', folder.file('download'), '--prefix', folder.file('prefix'), ...args], {
        env: { PATH: bin, HOME: folder.path },
      }).stdout.toString()
    const advice = 'not isolated without bubblewrap: sudo apt-get install -y bubblewrap\n'
    expect(install('--user')).toContain(advice)
    expect(install('--user', '--no-service')).not.toContain('bubblewrap')
    expect(existsSync(record)).toBe(false)
    const isRoot = process.getuid?.() === 0
    expect(install()).toContain(isRoot ? 'Installed bubblewrap, which isolates agents.\n' : advice)
    if (isRoot) expect(readFileSync(record, 'utf8')).toBe('install -y bubblewrap\n')
  },
)

test('writeInstaller: install.sh of a release downloads from its URL unless STEAD_DOWNLOAD_URL is set', async () => {
  using folder = tempFolder()
  const name = `stead-${ownTarget()}`
  const sum = Bun.CryptoHasher.hash('sha256', PROGRAM, 'hex')
  await using server = Bun.serve({
    port: 0,
    fetch: ({ url }) => new Response(url.endsWith(`/v1/${name}`) ? PROGRAM : `${sum}  ${name}\n`),
  })
  const script = folder.file('install.sh')
  await writeInstaller(script, `${server.url.href}v1/`)
  const run = async (environment: Record<string, string>) => {
    const child = Bun.spawn([script, '--prefix', folder.path, '--no-service'], {
      env: { PATH: '/usr/bin:/bin', HOME: folder.path, ...environment },
      ...{ stdout: 'pipe', stderr: 'pipe' },
    })
    return { exitCode: await child.exited, stderr: await child.stderr.text() }
  }
  expect(await run({ STEAD_DOWNLOAD_URL: 'http://127.0.0.1:1' })).toMatchObject({ exitCode: 1 })
  expect(await run({})).toEqual({ exitCode: 0, stderr: '' })
  expect(readFileSync(folder.file('bin/stead'), 'utf8')).toBe(PROGRAM)
  await expect(writeInstaller(script, "https://a.example/'; reboot")).rejects.toThrow(
    'must be an http or https address',
  )
})

test.skipIf(Bun.which('shellcheck') === null)('install.sh: shellcheck reports nothing', () => {
  const { exitCode, stdout } = Bun.spawnSync(['shellcheck', SCRIPT])
  expect([exitCode, stdout.toString()]).toEqual([0, ''])
})

test('install.sh is executable', () => {
  expect(statSync(SCRIPT).mode & 0o111).not.toBe(0)
})
