import { expect, onTestFinished, test } from 'bun:test'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createDeflate } from 'node:zlib'
import { z } from 'zod'
import { createPdfReader } from '../../../src/adapters/documents/pdf.ts'
import { createGitRunner } from '../../../src/adapters/git/runner.ts'
import { createPageReader } from '../../../src/adapters/pages/reader.ts'
import { createParserPool } from '../../../src/adapters/parsers/pool.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import { readLines } from '../../harness/wires/lines.ts'
import { cpuSecondsOf, isRunning, listChildren } from './child-processes.ts'
import { HOSTILE_PAGES, PLAIN_PAGE } from './hostile-pages.ts'

/** These tests read `/proc`. */
const onLinux = process.platform === 'linux' ? test : test.skip
const SLOW_MS = 120_000
const MEGABYTE = 1024 * 1024

function toSource(html: string) {
  return { bytes: Buffer.from(html), contentType: 'text/html', url: 'http://site.test/', wantsMarkdown: true }
}

onLinux.each(Object.entries(HOSTILE_PAGES))(
  'PageReader.read ends six processes and serves the next page when %s',
  async (_, html) => {
    const pages = createPageReader({ readMs: 500, maxProcesses: 2 })
    onTestFinished(() => pages.close())
    const seen = new Set<number>()
    let most = 0
    const look = setInterval(() => {
      const living = listChildren(process.pid).filter((pid) => pages.pids().includes(pid))
      for (const pid of living) seen.add(pid)
      most = Math.max(most, living.length)
    }, 20)
    const attacks = Array.from({ length: 6 }, () => pages.read(toSource(html), AbortSignal.timeout(SLOW_MS)))
    const outcomes = await Promise.allSettled(attacks)
    clearInterval(look)
    expect(outcomes.map((one) => (one.status === 'rejected' ? String(one.reason) : one.status))).toEqual(
      Array(6).fill('ParserLimitError: The parser was ended: it took too much time'),
    )
    expect(seen.size).toBe(6)
    expect(most).toBeLessThanOrEqual(2)
    await until('the end of every process', () => [...seen].every((pid) => !isRunning(pid)))
    const { page } = await pages.read(toSource(PLAIN_PAGE), AbortSignal.timeout(SLOW_MS))
    expect(page.title).toBe('Plain')
  },
  SLOW_MS,
)

onLinux(
  'GitRunner.status ends its process when .git/config holds 900 KB that a pattern cannot read',
  async () => {
    using folder = tempFolder()
    mkdirSync(folder.file('.git/objects'), { recursive: true })
    mkdirSync(folder.file('.git/refs'))
    writeFileSync(folder.file('.git/HEAD'), 'ref: refs/heads/main\n')
    const root = { base: folder.path, below: [] }
    const git = createGitRunner({ readMs: 1000 })
    onTestFinished(() => git.close())
    expect(await git.status(root)).toMatchObject({ isGitRepo: true, hasChanges: false })
    const [warm] = git.pids()
    writeFileSync(folder.file('.git/config'), `[remote "origin"]\n\turl = ${' '.repeat(900_000)}x\u2028y\n`)
    await expect(git.status(root)).rejects.toMatchObject({
      kind: 'internal',
      message: 'The repository takes too much to read',
    })
    await until('the end of the process', () => !isRunning(warm ?? 0))
    writeFileSync(folder.file('.git/config'), '[remote "origin"]\n\turl = https://git.test/a.git\n')
    expect(await git.status(root)).toMatchObject({ remote: 'https://git.test/a.git' })
  },
  SLOW_MS,
)

onLinux(
  'PdfReader.read ends its process when a stream of the PDF unpacks to 1 GB',
  async () => {
    const reader = createPdfReader({ maxMemoryBytes: 300 * MEGABYTE })
    onTestFinished(() => reader.close())
    const before = process.memoryUsage.rss()
    await expect(reader.read(await toBomb(1024))).rejects.toMatchObject({
      kind: 'invalid',
      cause: { message: 'The parser was ended: it took too much memory' },
    })
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * MEGABYTE)
  },
  SLOW_MS,
)

onLinux(
  'ParserPool.run ends the process when it writes more than the job allows',
  async () => {
    using folder = tempFolder()
    mkdirSync(folder.file('.git/objects'), { recursive: true })
    writeFileSync(folder.file('.git/HEAD'), 'ref: refs/heads/main\n')
    for (let index = 0; index < 500; index += 1) writeFileSync(folder.file(`file-${index}`), '')
    const pool = createParserPool('git', {
      maxProcesses: 1,
      maxWaiting: 0,
      maxMemoryBytes: 512 * MEGABYTE,
      idleMs: 10_000,
    })
    onTestFinished(() => pool.close())
    const job = { name: 'status', args: [{ base: folder.path, below: [] }], result: z.unknown(), maxMs: 20_000 }
    await expect(pool.run({ ...job, maxOutputBytes: 1000 })).rejects.toThrow('it took too much output')
    await until('the end of the process', () => pool.pids().length === 0)
    expect(await pool.run({ ...job, maxOutputBytes: MEGABYTE })).toMatchObject({ isGitRepo: true })
  },
  SLOW_MS,
)

onLinux(
  'ParserPool.run keeps one process for the next job and ends it when it was idle too long',
  async () => {
    const pages = createPageReader({ idleMs: 300 })
    onTestFinished(() => pages.close())
    expect(pages.pids()).toEqual([])
    const read = () => pages.read(toSource(PLAIN_PAGE), AbortSignal.timeout(SLOW_MS))
    await read()
    const [first] = pages.pids()
    await read()
    expect(pages.pids()).toEqual([first ?? 0])
    await until('the end of the idle process', () => pages.pids().length === 0)
    expect((await read()).page.title).toBe('Plain')
  },
  SLOW_MS,
)

onLinux(
  'a parser gets no setting, no secret and no open file of its parent',
  async () => {
    using folder = tempFolder()
    process.env.SECRET_OF_THE_PARENT = 'hunter2'
    const opened = openSync(folder.file('database'), 'w')
    const pages = createPageReader()
    onTestFinished(() => {
      pages.close()
      closeSync(opened)
      delete process.env.SECRET_OF_THE_PARENT
    })
    await pages.read(toSource(PLAIN_PAGE), AbortSignal.timeout(SLOW_MS))
    const [pid] = pages.pids()
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)).toEqual([
      'BUN_FEATURE_FLAG_NO_ORPHANS=1',
    ])
    const open = readdirSync(`/proc/${pid}/fd`).map((name) => readlinkSync(`/proc/${pid}/fd/${name}`))
    expect(open.filter((path) => path.startsWith(folder.path))).toEqual([])
    expect(open.filter((path) => path.startsWith('socket:')).length).toBeLessThanOrEqual(3)
    expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim()).toBe('1000')
  },
  SLOW_MS,
)

onLinux(
  'a parser goes on when it gets SIGINT and SIGTERM, which the server handles for its group',
  async () => {
    const pages = createPageReader()
    onTestFinished(() => pages.close())
    const read = () => pages.read(toSource(PLAIN_PAGE), AbortSignal.timeout(SLOW_MS))
    await read()
    const [pid = 0] = pages.pids()
    process.kill(pid, 'SIGINT')
    process.kill(pid, 'SIGTERM')
    await read()
    expect(pages.pids()).toEqual([pid])
  },
  SLOW_MS,
)

onLinux(
  'a parser that is busy ends when its parent is killed',
  async () => {
    using folder = tempFolder()
    const program = folder.file('parent.ts')
    const reader = join(import.meta.dir, '../../../src/adapters/pages/reader.ts')
    const hostile = join(import.meta.dir, 'hostile-pages.ts')
    writeFileSync(
      program,
      `import { createPageReader } from ${JSON.stringify(reader)}
import { HOSTILE_PAGES } from ${JSON.stringify(hostile)}
const pages = createPageReader({ readMs: 100_000 })
const [html] = Object.values(HOSTILE_PAGES)
const source = { bytes: Buffer.from(html), contentType: 'text/html', url: 'http://site.test/', wantsMarkdown: true }
void pages.read(source, AbortSignal.timeout(100_000))
const timer = setInterval(() => { if (pages.pids().length > 0) { console.log(pages.pids()[0]); clearInterval(timer) } }, 10)
setInterval(() => {}, 1000)
`,
    )
    const parent = Bun.spawn([process.execPath, program], { stdout: 'pipe', stderr: 'inherit' })
    onTestFinished(() => parent.kill('SIGKILL'))
    let pid = 0
    for await (const line of readLines(parent.stdout)) {
      pid = Number(line)
      break
    }
    // The parser is busy when it has used more CPU time than its start takes.
    await until('the parser to be busy', () => cpuSecondsOf(pid) > 2)
    parent.kill('SIGKILL')
    await until('the end of the parser', () => !isRunning(pid), atMostMs(5000))
  },
  SLOW_MS,
)

/** Returns a one-page PDF whose content inflates to the given number of megabytes. */
async function toBomb(megabytes: number): Promise<Buffer> {
  const blanks = Buffer.alloc(MEGABYTE, ' ')
  const parts = Readable.from(Array.from({ length: megabytes }, () => blanks))
  const packed = await buffer(parts.pipe(createDeflate({ level: 9 })))
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R>>',
  ].map((text, index) => `${index + 1} 0 obj${text}endobj\n`)
  const head = `%PDF-1.4\n${objects.join('')}4 0 obj<</Length ${packed.length}/Filter/FlateDecode>>stream\n`
  return Buffer.concat([Buffer.from(head), packed, Buffer.from('\nendstream endobj\ntrailer<</Root 1 0 R>>\n')])
}
