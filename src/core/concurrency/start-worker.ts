import { readlinkSync } from 'node:fs'
import { withFreeDescriptors } from './spare-descriptors.ts'

/** An event loop takes two; the rest is for what other threads open meanwhile. */
const NEEDED_DESCRIPTORS = 8
/** A loop is there after a third of a millisecond, and later on a machine that is busy. */
const LOOP_MS = 100
const LOOK_MS = 0.1

/**
 * Starts a worker that sees no settings and keeps no process from ending. A thread that finds no file descriptors for its
 * event loop ends the whole process, before any error can be caught: the worker is given some of those that the process
 * keeps for itself, and connections are accepted again once it has its loop. `source` is a path as `new Worker` takes it.
 * @throws Error EMFILE when there are no descriptors at all.
 */
export function startWorker(source: string): Worker {
  return withFreeDescriptors(NEEDED_DESCRIPTORS, (free) => {
    const worker = new Worker(source, { env: {}, ref: false, smol: true })
    // Elsewhere a process is not told what its descriptors are.
    if (process.platform === 'linux') waitForLoop(free)
    return worker
  })
}

/** A loop takes its eventfd last, and the system gives the lowest descriptors that are free. */
function waitForLoop(free: readonly number[]): void {
  const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const startedAt = performance.now()
  while (!free.some(isEventDescriptor) && performance.now() - startedAt < LOOP_MS) Atomics.wait(nobody, 0, 0, LOOK_MS)
}

function isEventDescriptor(descriptor: number): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`) === 'anon_inode:[eventfd]'
  } catch {
    // Nothing has taken it yet.
    return false
  }
}
