import { dlopen, FFIType, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { findLibc } from '../../core/libraries/libc.ts'

const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26
/** Who has begun a connection has so long until it is taken and has said what it wants. */
const GRACE_MS = 250
const LOOK_MS = 25
const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6']
/** Of the states that the kernel shows (`include/net/tcp_states.h`). */
const ESTABLISHED = '01'
const SYN_RECEIVED = '03'
const LISTENING = '0A'
/** `struct sock_filter`: operation, jumps, operand. It passes every packet but the first of a connection. */
const FILTER = [
  [0x30, 0, 0, 13], // the flags of the TCP header
  [0x54, 0, 0, 0x12], // SYN and ACK of them
  [0x15, 0, 1, 0x02], // SYN alone: on to the next line, else over it
  [0x06, 0, 0, 0],
  [0x06, 0, 0, 0xff_ff_ff_ff],
] as const

/**
 * Takes no new connections at `ports` of this process, and waits for those that were begun: the kernel would break them
 * off with the socket that listens, unread. Whoever knocks meanwhile hears nothing and knocks again a second later, when
 * nobody listens: that is a refusal, after which every client knows that nothing was done. Does nothing where the kernel
 * is not Linux. @throws Error when the kernel does not do it.
 */
export async function turnNewcomersAway(ports: readonly number[]): Promise<void> {
  if (process.platform !== 'linux') return
  const isListening = ({ port, state }: Socket) => state === LISTENING && ports.includes(port)
  const listening = TABLES.map((table) => ({ table, sockets: readTable(table).filter(isListening) }))
  attachFilter(new Set(listening.flatMap(({ sockets }) => sockets.map(({ inode }) => inode))))
  // What a socket takes stands in its table: the kernel goes through all that it has to show one.
  const tables = listening.filter(({ sockets }) => sockets.length > 0).map(({ table }) => table)
  const endsAt = performance.now() + GRACE_MS
  while (performance.now() < endsAt && hasConnections(tables, ports)) await Bun.sleep(LOOK_MS)
}

type Socket = { port: number; state: string; inode: string }

function hasConnections(tables: readonly string[], ports: readonly number[]): boolean {
  const isOurs = ({ port, state }: Socket) => (state === ESTABLISHED || state === SYN_RECEIVED) && ports.includes(port)
  return tables.some((table) => readTable(table).some(isOurs))
}

/** The sockets of the network that this process lives in, as proc(5) shows them. */
function readTable(path: string): Socket[] {
  return readIfThere(path)
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/)
      const port = local?.split(':')[1]
      return port && state && inode ? [{ port: Number.parseInt(port, 16), state, inode }] : []
    })
}

/** A machine without IPv6 has no table of it. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function attachFilter(inodes: ReadonlySet<string>): void {
  const { symbols, close } = dlopen(findLibc(), {
    setsockopt: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  })
  const lines = Buffer.concat(FILTER.map(toFilterLine))
  const program = Buffer.alloc(16)
  program.writeUInt16LE(FILTER.length)
  program.writeBigUInt64LE(BigInt(ptr(lines)), 8)
  const attach = (descriptor: number) =>
    symbols.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), program.length)
  const ours = readdirSync('/proc/self/fd').filter((descriptor) => inodes.has(inodeOf(descriptor)))
  const refused = ours.filter((descriptor) => attach(Number(descriptor)) !== 0)
  close()
  if (refused.length > 0) throw new Error('The kernel takes no filter for a socket that listens')
}

function toFilterLine([operation, ifTrue, ifFalse, operand]: (typeof FILTER)[number]): Buffer {
  const line = Buffer.alloc(8)
  line.writeUInt16LE(operation)
  line.writeUInt8(ifTrue, 2)
  line.writeUInt8(ifFalse, 3)
  line.writeUInt32LE(operand, 4)
  return line
}

/** Of a socket; empty for any other descriptor, and for one that was closed meanwhile. */
function inodeOf(descriptor: string): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1] ?? ''
  } catch {
    return ''
  }
}
