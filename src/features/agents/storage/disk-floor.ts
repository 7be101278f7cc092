/** Anybody may ask as often as they like; the disk is asked no more often than this. */
const KEPT_MS = 2000

/** Whether the disk has less space than the operator wants kept free, as of the last two seconds. */
export type DiskFloor = {
  minFreeBytes: number
  /** Free bytes of the fullest disk that the service writes to. @throws what measuring throws. */
  measure(): Promise<number>
  /** @throws what measuring throws. */
  isLow(): Promise<boolean>
}

/** `measureFreeDisk` tells the free bytes of the fullest disk that the service writes to. */
export function createDiskFloor(measureFreeDisk: () => Promise<number>, minFreeBytes: number): DiskFloor {
  let kept: Promise<number> | null = null
  let isUnderWay = false
  let keptUntilMs = 0
  const measure = () => {
    // A disk that hangs is asked once, not by one more thread every other second.
    if (!kept || (!isUnderWay && performance.now() >= keptUntilMs)) {
      isUnderWay = true
      keptUntilMs = performance.now() + KEPT_MS
      kept = measureFreeDisk().finally(() => {
        isUnderWay = false
      })
    }
    return kept
  }
  return { minFreeBytes, measure, isLow: async () => (await measure()) < minFreeBytes }
}
