import { dlopen, FFIType, ptr } from 'bun:ffi'
import { errorMessage } from '../../core/errors.ts'
import { findLibc } from '../../core/libraries/libc.ts'

const AF_UNIX = 1
/** `SOCK_DGRAM | SOCK_CLOEXEC` */
const DATAGRAM = 2 | 0x80000
const MSG_NOSIGNAL = 0x4000
/** Size of `sun_path` (unix(7)). */
const PATH_BYTES = 108

/** Reports the server's state to the service manager; does nothing without one. */
export type Notify = (state: string) => void

/**
 * Implements sd_notify(3): sends datagrams to the socket in `NOTIFY_SOCKET`, a path or, with `@`, an abstract name.
 * Failures go to `onFailure`; the server runs without notifications.
 */
export function createNotify(path: string | undefined, onFailure: (reason: string) => void): Notify {
  if (!path || process.platform !== 'linux') return () => undefined
  if (!/^[/@]/.test(path)) {
    onFailure(`NOTIFY_SOCKET is no socket of this machine: ${path}`)
    return () => undefined
  }
  return (state) => {
    try {
      sendDatagram(path, state)
    } catch (error) {
      onFailure(`the service manager was not told ${state}: ${errorMessage(error)}`)
    }
  }
}

/**
 * Sends watchdog pings at half of `WATCHDOG_USEC`; without them systemd restarts the server.
 * @returns a function that stops them.
 */
export function startWatchdog(notify: Notify, environment: Record<string, string | undefined>): () => void {
  const { WATCHDOG_USEC: microseconds, WATCHDOG_PID: pid } = environment
  const isMeant = pid === undefined || Number(pid) === process.pid
  if (!microseconds || !isMeant || !Number.isFinite(Number(microseconds))) return () => undefined
  const timer = setInterval(() => notify('WATCHDOG=1'), Number(microseconds) / 1000 / 2)
  timer.unref()
  return () => clearInterval(timer)
}

/** Sends one message. @throws Error when the socket does not exist or has no reader. */
function sendDatagram(path: string, text: string): void {
  const { symbols, close } = dlopen(findLibc(), {
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    sendto: {
      args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
      returns: FFIType.i64,
    },
    close: { args: [FFIType.i32], returns: FFIType.i32 },
  })
  const descriptor = symbols.socket(AF_UNIX, DATAGRAM, 0)
  try {
    if (descriptor < 0) throw new Error('no socket can be made')
    const address = toAddress(path)
    const bytes = Buffer.from(text)
    const sent = symbols.sendto(descriptor, ptr(bytes), bytes.length, MSG_NOSIGNAL, ptr(address), address.length)
    if (Number(sent) !== bytes.length) throw new Error(`nobody reads ${path}`)
  } finally {
    if (descriptor >= 0) symbols.close(descriptor)
    close()
  }
}

/** Builds a `struct sockaddr_un` of the exact length: an abstract name has no terminator. */
function toAddress(path: string): Buffer {
  const name = Buffer.from(path)
  if (name.length >= PATH_BYTES) throw new Error(`${path} is too long`)
  const isAbstract = path.startsWith('@')
  if (isAbstract) name[0] = 0
  const family = Buffer.from(new Uint16Array([AF_UNIX]).buffer)
  return Buffer.concat(isAbstract ? [family, name] : [family, name, Buffer.alloc(1)])
}
