import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import postgres from 'postgres'
import { z } from 'zod'
import { giveToPostgres, POSTGRES_PROGRAMS } from '../services/postgres.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { addMachine, canAddMachines, type Hub, type Machine } from './network.ts'

const PORT = 5432
const REST_PORT = 8008
const PASSWORD = 'secret'
const DATABASE = 'stead'
const START_MS = 240_000

/** A PostgreSQL server with Patroni and etcd on its own machine. */
export type DatabaseMachine = Machine & { id: string; start(): void }

/** PostgreSQL servers under Patroni, one of which confirms each commit of the primary. */
export type PatroniCluster = AsyncDisposable & {
  machines: readonly DatabaseMachine[]
  /** URLs of the database on all servers, comma-separated. */
  urls: string
  getPrimary(): Promise<DatabaseMachine>
  /** Waits until all servers follow one primary, one of them synchronously. */
  untilWhole(): Promise<void>
  /** Commits a row on the primary. @throws Error when there is none. */
  write(): Promise<void>
}

/** Returns why Patroni cannot run here, or null. */
export function whyNoPatroni(): string | null {
  if (process.getuid?.() !== 0) return 'machines of their own need root'
  const missing = ['patroni', 'etcd', 'haproxy', 'ip', 'nsenter', 'nft'].filter((tool) => Bun.which(tool) === null)
  if (missing.length > 0) return `no ${missing.join(', ')} here`
  if (POSTGRES_PROGRAMS === null) return 'no PostgreSQL here'
  return canAddMachines() ? null : 'network namespaces are not allowed here'
}

/** Starts three servers on machines whose numbers start at `first`. */
export async function startPatroni(hub: Hub, first: number): Promise<PatroniCluster> {
  const folder = tempFolder()
  giveToPostgres(folder.path)
  const own = Array.from({ length: 3 }, (_, index) => ({ ...addMachine(hub, first + index), id: `db${index + 1}` }))
  const machines = own.map((machine) => openDatabaseMachine(machine, own, folder.file(machine.id)))
  const dispose = async () => {
    await Promise.all(machines.map((machine) => machine.kill()))
    for (const { remove } of machines) remove()
    folder[Symbol.dispose]()
  }
  const urlOf = ({ address }: Machine, name: string) => `postgres://postgres:${PASSWORD}@${address}:${PORT}/${name}`
  const listMembers = async () => {
    for (const { address } of machines) {
      const found = await fetch(`http://${address}:${REST_PORT}/cluster`, { signal: AbortSignal.timeout(2000) })
        .then((response) => response.json())
        .catch(() => null)
      if (found) return Members.parse(found).members
    }
    return []
  }
  const cluster: PatroniCluster = {
    machines,
    urls: machines.map((machine) => urlOf(machine, DATABASE)).join(','),
    getPrimary: () =>
      until('a primary', async () => {
        const leader = (await listMembers()).find(({ role }) => role === 'leader')
        return machines.find(({ id }) => id === leader?.name)
      }),
    untilWhole: async () => {
      const isWhole = async () => {
        const members = await listMembers()
        const roles = members.filter(({ state }) => /running|streaming/.test(state)).map(({ role }) => role)
        return roles.sort().join() === 'leader,replica,sync_standby'
      }
      await until('three servers, one of them synchronous', isWhole, START_MS)
    },
    async write() {
      const hosts = machines.map(({ address }) => `${address}:${PORT}`).join(',')
      const sql = postgres(`postgres://postgres:${PASSWORD}@${hosts}/${DATABASE}`, {
        ...{ max: 1, connect_timeout: 1, fetch_types: false, onnotice: () => undefined },
        target_session_attrs: 'primary',
      })
      try {
        await sql`INSERT INTO plain_writes DEFAULT VALUES`
      } finally {
        await sql.end({ timeout: 0 })
      }
    },
    [Symbol.asyncDispose]: dispose,
  }
  try {
    for (const machine of machines) machine.start()
    await cluster.untilWhole()
    const primary = await cluster.getPrimary()
    const sql = postgres(urlOf(primary, 'postgres'), { max: 1 })
    await sql.unsafe(`CREATE DATABASE ${DATABASE}`)
    await sql.end()
    const inDatabase = postgres(urlOf(primary, DATABASE), { max: 1 })
    await inDatabase`CREATE TABLE plain_writes (id bigserial PRIMARY KEY, written_at timestamptz NOT NULL DEFAULT now())`
    await inDatabase.end()
    return cluster
  } catch (error) {
    await dispose()
    throw error
  }
}

const Members = z.object({
  members: z.array(z.object({ name: z.string(), role: z.string(), state: z.string() })),
})

function openDatabaseMachine(
  machine: Machine & { id: string },
  all: readonly (Machine & { id: string })[],
  folder: string,
): DatabaseMachine {
  mkdirSync(folder)
  const { uid, gid } = giveToPostgres(folder)
  const settings = `${folder}/patroni.json`
  writeFileSync(settings, JSON.stringify(toSettings(machine, all, folder)))
  const asUser = [...machine.enter, 'setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--']
  const spawn = (name: string, command: string[]) =>
    Bun.spawn([...asUser, ...command], {
      cwd: folder,
      env: { PATH: `/usr/bin:/bin:/usr/sbin:${POSTGRES_PROGRAMS}`, HOME: folder, LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', Bun.file(`${folder}/${name}.log`), Bun.file(`${folder}/${name}.errors`)],
    })
  return {
    ...machine,
    start() {
      spawn('etcd', toEtcd(machine, all, folder))
      spawn('patroni', ['patroni', settings])
    },
  }
}

/** A static list of members, with long timeouts because the machine is busy. */
function toEtcd(
  { id, address }: Machine & { id: string },
  all: readonly (Machine & { id: string })[],
  folder: string,
): string[] {
  const options = {
    name: id,
    'data-dir': `${folder}/etcd`,
    'listen-peer-urls': `http://${address}:2380`,
    'initial-advertise-peer-urls': `http://${address}:2380`,
    'listen-client-urls': `http://${address}:2379`,
    'advertise-client-urls': `http://${address}:2379`,
    'initial-cluster': all.map((other) => `${other.id}=http://${other.address}:2380`).join(','),
    'initial-cluster-state': existsSync(`${folder}/etcd`) ? 'existing' : 'new',
    'heartbeat-interval': '200',
    'election-timeout': '2000',
    logger: 'zap',
    'log-level': 'warn',
  }
  return ['etcd', ...Object.entries(options).map(([name, value]) => `--${name}=${value}`)]
}

/** Defaults of Patroni, except for names, addresses and shorter intervals. */
function toSettings(
  { id, address }: Machine & { id: string },
  all: readonly (Machine & { id: string })[],
  folder: string,
) {
  const everyone = `${address.split('.').slice(0, 3).join('.')}.0/24`
  return {
    scope: 'stead',
    name: id,
    restapi: { listen: `${address}:${REST_PORT}`, connect_address: `${address}:${REST_PORT}` },
    etcd3: { hosts: all.map((machine) => `${machine.address}:2379`) },
    bootstrap: {
      dcs: {
        ...{ ttl: 20, loop_wait: 2, retry_timeout: 5, maximum_lag_on_failover: 1_048_576 },
        ...{ synchronous_mode: true, synchronous_mode_strict: true },
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 100, wal_keep_size: '128MB' } },
      },
      initdb: ['data-checksums', { encoding: 'UTF8' }, { 'auth-host': 'scram-sha-256' }],
      pg_hba: [`host replication replicator ${everyone} scram-sha-256`, `host all all ${everyone} scram-sha-256`],
    },
    postgresql: {
      listen: `${address}:${PORT}`,
      connect_address: `${address}:${PORT}`,
      data_dir: `${folder}/data`,
      bin_dir: POSTGRES_PROGRAMS,
      pgpass: `${folder}/pgpass`,
      authentication: {
        superuser: { username: 'postgres', password: PASSWORD },
        replication: { username: 'replicator', password: PASSWORD },
        rewind: { username: 'rewinder', password: PASSWORD },
      },
      parameters: { unix_socket_directories: folder },
    },
  }
}
