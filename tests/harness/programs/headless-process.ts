/** Listens at the port that it is given, in a second thread, and ends its first one alone, as a process does that is killed. */
import { dlopen, FFIType } from 'bun:ffi'
import { findLibc } from '../../../src/core/libraries/libc.ts'

/** `exit` ends the thread that calls it; what ends them all is `exit_group`. */
const SYS_EXIT = process.arch === 'arm64' ? 93 : 60

const [port] = process.argv.slice(2)
const code = `Bun.serve({ hostname: '127.0.0.1', port: ${port}, fetch: () => new Response() }); postMessage('up')`
const second = new Worker(URL.createObjectURL(new Blob([code])))
second.onmessage = () => {
  const { symbols } = dlopen(findLibc(), { syscall: { args: [FFIType.i64, FFIType.i64], returns: FFIType.i64 } })
  symbols.syscall(SYS_EXIT, 0)
}
