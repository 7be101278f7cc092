import { isDuplicate, type LogDatabase, LogUnreachable } from './log-database.ts'

/** A batch of statements; `seq` decides the order, and only one node can take a number. */
type NewEntry = { seq: number; id: string; node: string; schema: number; body: string; hash: string }
type StoredEntry = Pick<NewEntry, 'seq' | 'schema' | 'body' | 'hash'>

/** `stored`: in the log. `taken`: another entry has the number. `unknown`: there was no answer in time. */
type AppendOutcome = 'stored' | 'taken' | 'unknown'

/** The identity that all nodes of a cluster share; `keyCheck` proves that they have the same encryption key. */
type ClusterIdentity = { id: string; keyCheck: string; sqliteVersion: string }

/** A node as it last reported itself. `secondsAgo` counts since then by the clock of PostgreSQL. */
type ReportedNode = {
  id: string
  boot: string
  url: string
  role: string
  position: number
  version: string
  secondsAgo: number
}

/** The node that may write, and the number of the last entry. */
type LogState = { leader: { node: string; url: string } | null; newest: number }

/** An append is tried again for this time, which is safe because its number and id stay the same. */
const APPEND_MS = 3500

const SCHEMA = `
CREATE TABLE IF NOT EXISTS stead_cluster (
  one boolean PRIMARY KEY DEFAULT true CHECK (one), id text NOT NULL, key_check text NOT NULL, sqlite_version text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS stead_log (
  seq bigint PRIMARY KEY, id text NOT NULL UNIQUE, node text NOT NULL, schema integer NOT NULL, body text NOT NULL,
  hash text NOT NULL, written_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS stead_lease (
  one boolean PRIMARY KEY DEFAULT true CHECK (one), node text NOT NULL, boot text NOT NULL, until timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS stead_nodes (
  id text PRIMARY KEY, boot text NOT NULL, url text NOT NULL, role text NOT NULL, position bigint NOT NULL,
  version text NOT NULL, seen_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS stead_snapshots (
  seq bigint PRIMARY KEY, hash text NOT NULL, schema integer NOT NULL, parts integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS stead_snapshot_parts (
  seq bigint NOT NULL, part integer NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (seq, part));
CREATE TABLE IF NOT EXISTS stead_checksums (seq bigint PRIMARY KEY, sums text NOT NULL, read_at timestamptz NOT NULL DEFAULT now());
`
/** Advisory lock of the set-up, because PostgreSQL does not serialize CREATE TABLE IF NOT EXISTS. */
const SETUP_LOCK = 7_371_001

export type CommitLogStore = ReturnType<typeof createCommitLogStore>
type Query = LogDatabase['query']

/** Reads and writes the log, the lease and the snapshots of a cluster. Every method throws LogUnreachable without an answer. */
export function createCommitLogStore({ query, close }: LogDatabase) {
  return { ...createEntries(query), ...createNodes(query), ...createSnapshots(query), close }
}

function createEntries(query: Query) {
  return {
    /** Creates the tables and, for a new log, the identity of the cluster. @returns the identity that counts. */
    async prepare(mine: ClusterIdentity): Promise<ClusterIdentity> {
      return query((sql) =>
        sql.begin(async (tx) => {
          await tx`SELECT pg_advisory_xact_lock(${SETUP_LOCK})`
          await tx.unsafe(SCHEMA)
          await tx`INSERT INTO stead_cluster (id, key_check, sqlite_version)
            VALUES (${mine.id}, ${mine.keyCheck}, ${mine.sqliteVersion}) ON CONFLICT DO NOTHING`
          const [row] = await tx`SELECT id, key_check, sqlite_version FROM stead_cluster`
          return { id: row?.id, keyCheck: row?.key_check, sqliteVersion: row?.sqlite_version }
        }),
      )
    },

    /** Returns the clock of PostgreSQL. */
    async now(): Promise<Date> {
      const [row] = await query((sql) => sql`SELECT now() AS now`)
      return row?.now
    },

    async append(entry: NewEntry): Promise<AppendOutcome> {
      const { seq, id, node, schema, body, hash } = entry
      const endsAt = performance.now() + APPEND_MS
      for (;;) {
        try {
          await query(
            (sql) => sql`INSERT INTO stead_log (seq, id, node, schema, body, hash)
              VALUES (${seq}, ${id}, ${node}, ${schema}, ${body}, ${hash})`,
          )
          return 'stored'
        } catch (error) {
          if (isDuplicate(error)) return isOwn(await ownerOf(query, seq, endsAt), id)
          if (!(error instanceof LogUnreachable)) throw error
          if (performance.now() >= endsAt) return 'unknown'
        }
      }
    },

    /** Returns the entries after `seq`, in order. */
    async readAfter(seq: number, limit: number): Promise<StoredEntry[]> {
      const rows = await query(
        (sql) => sql`SELECT seq, schema, body, hash FROM stead_log WHERE seq > ${seq} ORDER BY seq LIMIT ${limit}`,
      )
      return rows.map((row) => ({ seq: Number(row.seq), schema: row.schema, body: row.body, hash: row.hash }))
    },
  }
}

function createNodes(query: Query) {
  return {
    /** Takes or renews the lease unless another node holds it. @returns whether this node holds it. */
    async holdLease({ node, boot, ms }: { node: string; boot: string; ms: number }): Promise<boolean> {
      const rows = await query(
        (sql) => sql`INSERT INTO stead_lease AS lease (node, boot, until)
          VALUES (${node}, ${boot}, now() + ${ms} * interval '1 millisecond')
          ON CONFLICT (one) DO UPDATE SET node = excluded.node, boot = excluded.boot, until = excluded.until
          WHERE lease.boot = excluded.boot OR lease.until < now() RETURNING 1`,
      )
      return rows.length > 0
    },

    async releaseLease(boot: string): Promise<void> {
      await query((sql) => sql`UPDATE stead_lease SET until = now() - interval '1 second' WHERE boot = ${boot}`)
    },

    async readState(): Promise<LogState> {
      const [row] = await query(
        (sql) => sql`SELECT (SELECT max(seq) FROM stead_log) AS newest, lease.node, nodes.url
          FROM (SELECT 1) AS one LEFT JOIN stead_lease AS lease ON lease.until > now()
          LEFT JOIN stead_nodes AS nodes ON nodes.id = lease.node`,
      )
      const leader = row?.node && row.url ? { node: String(row.node), url: String(row.url) } : null
      return { leader, newest: Number(row?.newest ?? 0) }
    },

    /**
     * Reports this node. @returns false when another process with the same id was seen in the last `ms`.
     */
    async reportNode(node: Omit<ReportedNode, 'secondsAgo'>, ms: number): Promise<boolean> {
      const rows = await query(
        (sql) => sql`INSERT INTO stead_nodes AS known (id, boot, url, role, position, version)
          VALUES (${node.id}, ${node.boot}, ${node.url}, ${node.role}, ${node.position}, ${node.version})
          ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, url = excluded.url, role = excluded.role,
            position = excluded.position, version = excluded.version, seen_at = now()
          WHERE known.boot = excluded.boot OR known.seen_at < now() - ${ms} * interval '1 millisecond' RETURNING 1`,
      )
      return rows.length > 0
    },

    async leave(boot: string): Promise<void> {
      await query((sql) => sql`DELETE FROM stead_nodes WHERE boot = ${boot}`)
    },

    async listNodes(): Promise<ReportedNode[]> {
      const rows = await query(
        (sql) => sql`SELECT id, boot, url, role, position, version,
          extract(epoch FROM now() - seen_at)::float8 AS seconds_ago FROM stead_nodes ORDER BY id`,
      )
      return rows.map((row) => ({
        ...{ id: row.id, boot: row.boot, url: row.url, role: row.role, version: row.version },
        position: Number(row.position),
        secondsAgo: row.seconds_ago,
      }))
    },

    /** Returns whether an acknowledged append is on a second server: commits wait for a connected synchronous standby. */
    async isSynchronous(): Promise<boolean> {
      const [row] = await query(
        (sql) => sql`SELECT current_setting('synchronous_commit') AS commit,
          current_setting('synchronous_standby_names') AS standbys,
          (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS connected`,
      )
      const waits = ['on', 'remote_apply', 'remote_write'].includes(row?.commit)
      return waits && row?.standbys !== '' && Number(row?.connected ?? 0) > 0
    },
  }
}

function createSnapshots(query: Query) {
  return {
    /** Stores a whole database file as of `seq`, and removes older snapshots and the entries before them. */
    async saveSnapshot(
      snapshot: { seq: number; hash: string; schema: number },
      parts: AsyncIterable<Uint8Array>,
    ): Promise<void> {
      const { seq, hash, schema } = snapshot
      await query((sql) => sql`DELETE FROM stead_snapshot_parts WHERE seq = ${seq}`)
      let count = 0
      for await (const bytes of parts) {
        const part = count++
        await query(
          (sql) =>
            sql`INSERT INTO stead_snapshot_parts (seq, part, bytes) VALUES (${seq}, ${part}, ${Buffer.from(bytes)})`,
        )
      }
      await query(
        (
          sql,
        ) => sql`INSERT INTO stead_snapshots (seq, hash, schema, parts) VALUES (${seq}, ${hash}, ${schema}, ${count})
          ON CONFLICT (seq) DO UPDATE SET hash = excluded.hash, schema = excluded.schema, parts = excluded.parts, created_at = now()`,
      )
    },

    async findSnapshot(): Promise<{ seq: number; hash: string; schema: number; parts: number } | null> {
      const [row] = await query(
        (sql) => sql`SELECT seq, hash, schema, parts FROM stead_snapshots ORDER BY seq DESC LIMIT 1`,
      )
      return row ? { seq: Number(row.seq), hash: row.hash, schema: row.schema, parts: row.parts } : null
    },

    async readSnapshotPart(seq: number, part: number): Promise<Uint8Array> {
      const [row] = await query(
        (sql) => sql`SELECT bytes FROM stead_snapshot_parts WHERE seq = ${seq} AND part = ${part}`,
      )
      if (!row) throw new LogUnreachable(`part ${part} of snapshot ${seq} is missing`)
      return row.bytes
    },

    /** Stores the leader's checksum of each table as of `seq`, instead of earlier ones. */
    async saveChecksums(seq: number, sums: Record<string, string>): Promise<void> {
      const text = JSON.stringify(sums)
      await query((sql) => sql`DELETE FROM stead_checksums WHERE seq < ${seq}`)
      await query((sql) => sql`INSERT INTO stead_checksums (seq, sums) VALUES (${seq}, ${text}) ON CONFLICT DO NOTHING`)
    },

    /** Returns the leader's checksum of each table as of `seq`; null before the first one. */
    async findChecksums(seq: number): Promise<Record<string, string> | null> {
      const [row] = await query((sql) => sql`SELECT sums FROM stead_checksums WHERE seq = ${seq}`)
      return row ? JSON.parse(row.sums) : null
    },

    /** Deletes all snapshots but the newest `kept`, and the entries that the oldest of these contains. */
    async truncate(kept: number): Promise<void> {
      await query(async (sql) => {
        const rows = await sql`SELECT seq FROM stead_snapshots ORDER BY seq DESC LIMIT ${kept}`
        const oldest = rows.at(-1)?.seq
        if (oldest === undefined || rows.length < kept) return
        await sql`DELETE FROM stead_snapshots WHERE seq < ${oldest}`
        await sql`DELETE FROM stead_snapshot_parts WHERE seq < ${oldest}`
        await sql`DELETE FROM stead_log WHERE seq <= ${oldest}`
      })
    },
  }
}

async function ownerOf(query: Query, seq: number, endsAt: number): Promise<string | null> {
  for (;;) {
    try {
      const [row] = await query((sql) => sql`SELECT id FROM stead_log WHERE seq = ${seq}`)
      return row?.id ?? ''
    } catch (error) {
      if (!(error instanceof LogUnreachable)) throw error
      if (performance.now() >= endsAt) return null
    }
  }
}

function isOwn(owner: string | null, id: string): AppendOutcome {
  if (owner === null) return 'unknown'
  return owner === id ? 'stored' : 'taken'
}
