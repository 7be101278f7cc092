import http from 'node:http'

const MEGABYTE = 1024 * 1024
/** All cookies that a browser keeps for one domain, 180 of 4 KB, and other headers beside them. */
const LARGE_HEAD_BYTES = 800 * 1024
const USUAL_HEAD_BYTES = 16 * 1024
/** Memory beyond that of the start, above which strangers could fill the rest with heads. */
const SPARE_BYTES = 512 * MEGABYTE
const LOOK_MS = 1000

/**
 * Takes heads as large as browsers can make them: a page of an agent may set so many cookies for our domain that every
 * request to the dashboard would be refused by the server itself, with 431, and its visitor could never come back. Heads
 * under way lie in memory, so they must be small again while there is little. Returns what ends it.
 */
export function openHeadRoom(readMemoryBytes: () => number = () => process.memoryUsage.rss()): () => void {
  const startBytes = readMemoryBytes()
  const look = () => {
    const isFull = readOrMost(readMemoryBytes) > startBytes + SPARE_BYTES
    // The types call it constant; Bun lets it be set, for connections that are open as well.
    Object.assign(http, { maxHeaderSize: isFull ? USUAL_HEAD_BYTES : LARGE_HEAD_BYTES })
  }
  look()
  const timer = setInterval(look, LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** The system does not tell a process without file descriptors how large it is: it counts as full then. */
function readOrMost(readMemoryBytes: () => number): number {
  try {
    return readMemoryBytes()
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
