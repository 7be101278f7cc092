/** Numbers of a system call, by architecture of Node: x86-64 and 64-bit ARM. */
type Numbers = readonly [x64: number, arm64: number]

/** System calls that lead out of a sandbox, or that only administrators need. */
const DENIED: Readonly<Record<string, Numbers>> = {
  acct: [163, 89],
  add_key: [248, 217],
  adjtimex: [159, 171],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  lookup_dcookie: [212, 18],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  name_to_handle_at: [303, 264],
  nfsservctl: [180, 42],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  request_key: [249, 218],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  settimeofday: [164, 170],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
  vhangup: [153, 58],
}
/** Access to I/O ports, which only x86-64 has. */
const DENIED_ON_X64 = [172, 173]

const CLONE: Numbers = [56, 220]
const SOCKET: Numbers = [41, 198]
const CLONE3 = 435
/** Flags of clone(2) that create namespaces: mount, cgroup, uts, ipc, user, pid, net. */
const NEW_NAMESPACES = 0x7e02_0000
/** Sockets to the host of a virtual machine, which no network namespace confines. */
const AF_VSOCK = 40
/** System calls of the 32-bit pointer ABI have this bit. */
const X32_BIT = 0x4000_0000

// linux/audit.h, linux/seccomp.h and linux/bpf_common.h.
const ARCHITECTURES: Readonly<Record<string, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 }
const ALLOW = 0x7fff_0000
const NOT_PERMITTED = 0x0005_0001
const NOT_IMPLEMENTED = 0x0005_0026
const LOAD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_AT_LEAST = 0x35
const JUMP_ANY_BIT = 0x45
const RETURN = 0x06
/** Offsets in `struct seccomp_data`. */
const NUMBER_AT = 0
const ARCHITECTURE_AT = 4
const FIRST_ARGUMENT_AT = 16

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

/**
 * Returns the seccomp filter of agents as a classic BPF program: it refuses `DENIED`, new namespaces, and programs of
 * other architectures. Null for an architecture without a list.
 */
export function toSystemCallFilter(architecture: string): Uint8Array | null {
  const known = ARCHITECTURES[architecture]
  if (known === undefined) return null
  const isX64 = architecture === 'x64'
  const numberOf = ([x64, arm64]: Numbers) => (isX64 ? x64 : arm64)
  const denied = [...Object.values(DENIED).map(numberOf), ...(isX64 ? DENIED_ON_X64 : [])]
  return encode([
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [JUMP_EQUAL, 1, 0, known],
    [RETURN, 0, 0, NOT_IMPLEMENTED],
    [LOAD, 0, 0, NUMBER_AT],
    ...refuseWhen(JUMP_AT_LEAST, X32_BIT, NOT_IMPLEMENTED),
    // The flags of clone3 are in memory, where a filter cannot read them; C libraries fall back to clone.
    ...refuseWhen(JUMP_EQUAL, CLONE3, NOT_IMPLEMENTED),
    ...denied.flatMap((number) => refuseWhen(JUMP_EQUAL, number, NOT_PERMITTED)),
    ...refuseArgument(numberOf(CLONE), JUMP_ANY_BIT, NEW_NAMESPACES),
    ...refuseArgument(numberOf(SOCKET), JUMP_EQUAL, AF_VSOCK),
    [RETURN, 0, 0, ALLOW],
  ])
}

function refuseWhen(jump: number, value: number, result: number): Instruction[] {
  return [
    [jump, 0, 1, value],
    [RETURN, 0, 0, result],
  ]
}

/** Refuses a system call by its first argument, and allows it otherwise. */
function refuseArgument(number: number, jump: number, value: number): Instruction[] {
  return [
    [JUMP_EQUAL, 0, 4, number],
    [LOAD, 0, 0, FIRST_ARGUMENT_AT],
    ...refuseWhen(jump, value, NOT_PERMITTED),
    [RETURN, 0, 0, ALLOW],
  ]
}

/** Encodes `struct sock_filter` for little-endian machines. */
function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8))
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.setUint16(index * 8, code, true)
    bytes.setUint8(index * 8 + 2, ifTrue)
    bytes.setUint8(index * 8 + 3, ifFalse)
    bytes.setUint32(index * 8 + 4, value, true)
  }
  return new Uint8Array(bytes.buffer)
}
