import { closeSync, openSync } from 'node:fs'

/** File descriptors that this process keeps from connections. The limit is one for the whole process, and so is this. */
const held: number[] = []

/** Are `count` descriptors free or held already? Holds so many from now on if so, and none at all if not. */
export function holdDescriptors(count: number): boolean {
  try {
    while (held.length < count) held.push(openNothing())
    releaseDescriptors(count)
    return true
  } catch {
    releaseDescriptors(0)
    return false
  }
}

/** Gives back the held ones beyond `count`. */
export function releaseDescriptors(count: number): void {
  for (const descriptor of held.splice(count)) closeSync(descriptor)
}

/**
 * Calls `use` while `count` descriptors are free, which it is told; what is held is used for that and held again
 * afterwards. Connections cannot take them as long as `use` keeps the thread that accepts them.
 * @throws Error EMFILE when there are not so many.
 */
export function withFreeDescriptors<T>(count: number, use: (free: readonly number[]) => T): T {
  const heldBefore = held.length
  releaseDescriptors(Math.max(0, heldBefore - count))
  try {
    return use(findFree(count))
  } finally {
    if (heldBefore > 0) holdDescriptors(heldBefore)
  }
}

function findFree(count: number): number[] {
  const free: number[] = []
  try {
    while (free.length < count) free.push(openNothing())
    return free
  } finally {
    for (const descriptor of free) closeSync(descriptor)
  }
}

function openNothing(): number {
  return openSync('/dev/null', 'r')
}
