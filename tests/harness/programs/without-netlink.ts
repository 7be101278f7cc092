/**
 * `bun without-netlink.ts PROGRAM [arguments …]` replaces itself by PROGRAM without access to netlink sockets. Chromium
 * aborts loading when a network address changes, as other tests' containers cause; without netlink it assumes a
 * constant network.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi'

const { symbols: c } = dlopen('libc.so.6', {
  prctl: { args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64], returns: FFIType.i32 },
  fcntl: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  execv: { args: [FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
})

const SET_NO_NEW_PRIVILEGES = 38
const SET_SECCOMP = 22
const MODE_FILTER = 2
const NETLINK = 16
const SET_DESCRIPTOR_FLAGS = 2
/** Chromium reads commands from the first pipe and writes responses to the second. */
const COMMAND_PIPES = [3, 4]
const ALLOW = 0x7fff0000
const FAIL_WITH_UNSUPPORTED_FAMILY = 0x00050000 + 97
const LOAD = 0x20
const JUMP_IF_EQUAL = 0x15
const RETURN = 0x06
/** Offsets in `struct seccomp_data`. */
const AT = { call: 0, processor: 4, firstArgument: 16 }
/** Audit architecture and number of the `socket` system call. */
const PROCESSORS: Partial<Record<NodeJS.Architecture, { kind: number; socketCall: number }>> = {
  x64: { kind: 0xc000003e, socketCall: 41 },
  arm64: { kind: 0xc00000b7, socketCall: 198 },
}

const [path, ...others] = process.argv.slice(2)
if (path === undefined) throw new Error('Name a program to run.')
blockNetlink()
execProgram(path, others)

/** Installs a seccomp filter that makes netlink sockets fail for this process and its children. */
function blockNetlink(): void {
  const processor = PROCESSORS[process.arch]
  if (processor === undefined) throw new Error(`No seccomp filter for the architecture ${process.arch}.`)
  const filter = Buffer.concat([
    instruction(LOAD, AT.processor),
    instruction(JUMP_IF_EQUAL, processor.kind, { orSkip: 4 }),
    instruction(LOAD, AT.call),
    instruction(JUMP_IF_EQUAL, processor.socketCall, { orSkip: 2 }),
    instruction(LOAD, AT.firstArgument),
    instruction(JUMP_IF_EQUAL, NETLINK, { skip: 1 }),
    instruction(RETURN, ALLOW),
    instruction(RETURN, FAIL_WITH_UNSUPPORTED_FAMILY),
  ])
  const program = Buffer.alloc(16)
  program.writeUInt16LE(filter.length / 8, 0)
  program.writeBigUInt64LE(BigInt(ptr(filter)), 8)
  // Without `no_new_privs`, only a privileged process may install a filter.
  if (c.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) !== 0 || c.prctl(SET_SECCOMP, MODE_FILTER, ptr(program), 0, 0) !== 0)
    throw new Error('The kernel rejected the seccomp filter.')
}

function instruction(code: number, value: number, { skip = 0, orSkip = 0 } = {}): Buffer {
  const bytes = Buffer.from([code, 0, skip, orSkip, 0, 0, 0, 0])
  bytes.writeUInt32LE(value, 4)
  return bytes
}

/** Replaces this process by `program`, which keeps the process id and the pipes. Returns only by throwing. */
function execProgram(program: string, parameters: string[]): never {
  // Bun marks inherited descriptors close-on-exec.
  for (const descriptor of COMMAND_PIPES) c.fcntl(descriptor, SET_DESCRIPTOR_FLAGS, 0)
  const texts = [program, ...parameters].map((text) => Buffer.from(`${text}\0`))
  const pointers = new BigUint64Array([...texts.map((text) => BigInt(ptr(text))), 0n])
  c.execv(ptr(texts[0] ?? Buffer.from('\0')), ptr(pointers))
  throw new Error(`${program} cannot be run.`)
}
