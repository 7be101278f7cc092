import { chownSync, existsSync, readdirSync, statSync } from 'node:fs'
import { findFreePorts } from '../ports.ts'
import { tempFolder } from '../temp-folder.ts'

const VERSIONS = '/usr/lib/postgresql'
const USER = 'postgres'

/** Folder of PostgreSQL's programs, or null where it is not installed. */
export const POSTGRES_PROGRAMS = findPrograms()

/** A PostgreSQL server on this machine. */
export type TestPostgres = AsyncDisposable & {
  port: number
  /** URL of a new, empty database. */
  createDatabase(): Promise<string>
  /** Starts the server again after `kill`. */
  start(): Promise<void>
  /** Ends the server immediately, as a crash does. */
  kill(): Promise<void>
  /** Starts a synchronous standby. */
  addStandby(): Promise<TestStandby>
}
export type TestStandby = AsyncDisposable & { port: number; promote(): Promise<void> }

/** PostgreSQL refuses to run as root. */
const isRoot = process.getuid?.() === 0

/** With `isDurable`, each commit waits for the disk, for measurements. */
export async function openPostgres({ isDurable = false } = {}): Promise<TestPostgres> {
  const folder = tempFolder()
  const server = await createServer(folder, isDurable)
  await runProgram('initdb', ['-D', server.data, '-A', 'trust', '-U', USER, '--no-sync'])
  await server.start()
  let databases = 0
  return {
    port: server.port,
    start: server.start,
    kill: server.kill,
    async createDatabase() {
      const name = `stead${++databases}`
      await runProgram('createdb', ['-h', '127.0.0.1', '-p', String(server.port), '-U', USER, name])
      return `postgres://${USER}@127.0.0.1:${server.port}/${name}`
    },
    async addStandby() {
      const standbyFolder = tempFolder()
      const standby = await createServer(standbyFolder, isDurable)
      const from = ['-h', '127.0.0.1', '-p', String(server.port), '-U', USER]
      await runProgram('pg_basebackup', ['-D', standby.data, '-R', '-X', 'stream', '-c', 'fast', ...from])
      await standby.start()
      for (const command of ["ALTER SYSTEM SET synchronous_standby_names = '*'", 'SELECT pg_reload_conf()']) {
        await runProgram('psql', [...from, '-d', USER, '-c', command])
      }
      return {
        port: standby.port,
        promote: () => runProgram('pg_ctl', ['-D', standby.data, '-w', 'promote']),
        async [Symbol.asyncDispose]() {
          await standby.kill()
          standbyFolder[Symbol.dispose]()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await server.kill()
      folder[Symbol.dispose]()
    },
  }
}

async function createServer(folder: ReturnType<typeof tempFolder>, isDurable: boolean) {
  const [port = 0] = await findFreePorts(1)
  const data = folder.file('data')
  if (isRoot) giveToPostgres(folder.path)
  const options = `-p ${port} -k ${folder.path} -c listen_addresses=127.0.0.1 -c fsync=${isDurable ? 'on' : 'off'} -c max_connections=100`
  const start = () => runProgram('pg_ctl', ['-D', data, '-w', '-o', options, '-l', folder.file('log'), 'start'])
  return {
    port,
    data,
    start,
    kill: () => runProgram('pg_ctl', ['-D', data, '-w', '-m', 'immediate', 'stop']).catch(() => undefined),
  }
}

async function runProgram(name: string, args: readonly string[]): Promise<void> {
  const command = [`${POSTGRES_PROGRAMS}/${name}`, ...args]
  const asUser = isRoot ? ['runuser', '-u', USER, '--', ...command] : command
  // Not pipes, because the server would keep those of `pg_ctl` open.
  const child = Bun.spawn(asUser, { cwd: '/tmp', stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  const code = await child.exited
  if (code !== 0) throw new Error(`${name} ended with ${code}`)
}

/** Gives a folder to the user of PostgreSQL. @returns that user. */
export function giveToPostgres(path: string): { uid: number; gid: number } {
  const { uid, gid } = statSync('/var/lib/postgresql')
  chownSync(path, uid, gid)
  return { uid, gid }
}

function findPrograms(): string | null {
  if (!existsSync(VERSIONS)) return null
  const [newest] = readdirSync(VERSIONS).sort((one, other) => Number(other) - Number(one))
  return newest ? `${VERSIONS}/${newest}/bin` : null
}
