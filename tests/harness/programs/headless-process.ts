/**
 * Listens on the given port in a second thread and ends only its main thread, the state of a process that is being
 * killed.
 */
import { dlopen, FFIType } from 'bun:ffi'
import { findLibc } from '../../../src/core/libraries/libc.ts'

/** `exit` ends only the calling thread; `exit_group` would end all. */
const SYS_EXIT = process.arch === 'arm64' ? 93 : 60

const [port] = process.argv.slice(2)
const code = `Bun.serve({ hostname: '127.0.0.1', port: ${port}, fetch: () => new Response() }); postMessage('up')`
const second = new Worker(URL.createObjectURL(new Blob([code])))
second.onmessage = () => {
  const { symbols } = dlopen(findLibc(), { syscall: { args: [FFIType.i64, FFIType.i64], returns: FFIType.i64 } })
  symbols.syscall(SYS_EXIT, 0)
}
